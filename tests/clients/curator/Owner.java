import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URI;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryOneTime;

/**
 * A worker on Curator's InterProcessMutex.
 *
 * <p>Works as long as it is not asked to stop, as if a lock that was got were kept. With {@code --listens} it stops with
 * the first word that the connection is suspended or lost, and by a deadline of its own: after a pause the thread that
 * writes may wake before the one that brings the word.
 */
public final class Owner {
    private static final String KEY = System.getenv("LEASEPROOF_KEY");
    private static final int TTL_MS = Integer.parseInt(System.getenv("LEASEPROOF_TTL_MS"));
    private static final long HEARTBEAT_MS = Long.parseLong(System.getenv("LEASEPROOF_HEARTBEAT_MS"));
    private static final long WRITE_EVERY_MS = Math.max(HEARTBEAT_MS / 10, 20);
    /** The server's clock may run a little faster than ours. */
    private static final long VALID_NS = TimeUnit.MILLISECONDS.toNanos(TTL_MS - Math.max(TTL_MS / 100, 5));

    private static final AtomicBoolean stopping = new AtomicBoolean();
    /** Set from the first word that the session may be over, until a new lock is got. */
    private static final AtomicBoolean doubt = new AtomicBoolean();

    private Owner() {}

    public static void main(String[] arguments) throws Exception {
        boolean listens = Arrays.asList(arguments).contains("--listens");
        Thread main = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            stopping.set(true);
            try {
                // Only the thread that has the lock can release it.
                main.join(5000);
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
        }));
        URI store = new URI(System.getenv("LEASEPROOF_STORE"));
        String place = store.getHost() + ":" + store.getPort();
        try (CuratorFramework client = CuratorFrameworkFactory.newClient(place, TTL_MS, TTL_MS, new RetryOneTime(100))) {
            client.getConnectionStateListenable().addListener((of, state) -> {
                if (state == ConnectionState.SUSPENDED || state == ConnectionState.LOST) {
                    doubt.set(true);
                }
            });
            client.start();
            while (!stopping.get()) {
                turn(client, listens);
            }
        }
    }

    /** Gets the lock, works under it, and gives it back. */
    private static void turn(CuratorFramework client, boolean listens) throws InterruptedException {
        InterProcessMutex lock = new InterProcessMutex(client, "/" + KEY);
        // This clock stands still while the machine is suspended; Java has no other.
        long sent = System.nanoTime();
        try {
            doubt.set(false);
            if (!lock.acquire(200, TimeUnit.MILLISECONDS)) {
                return;
            }
        } catch (Exception failed) {
            System.err.println("acquire: " + failed);
            Thread.sleep(WRITE_EVERY_MS);
            return;
        }
        // It may have been got before the word, or too late.
        if (!listens || isHeld(sent)) {
            say("acquired");
            work(client, listens, sent);
        }
        boolean kept = !doubt.get();
        try {
            lock.release();
            if (kept) {
                say("released");
            }
        } catch (Exception failed) {
            System.err.println("release: " + failed);
        }
    }

    /** Writes, and asks the server for anything at all once a heartbeat: whatever it answers extends the session. */
    private static void work(CuratorFramework client, boolean listens, long acquired) throws InterruptedException {
        long sent = acquired;
        while (!stopping.get()) {
            if (listens && !isHeld(sent)) {
                doubt.set(true);
                say("lost");
                return;
            }
            if (listens && System.nanoTime() - sent >= TimeUnit.MILLISECONDS.toNanos(HEARTBEAT_MS)) {
                long asked = System.nanoTime();
                try {
                    client.checkExists().forPath("/");
                    sent = asked;
                } catch (Exception failed) {
                    doubt.set(true);
                }
                continue;
            }
            write();
            Thread.sleep(WRITE_EVERY_MS);
        }
    }

    /** Whether no word of doubt came, and the session lasts still, counted from before it was last extended. */
    private static boolean isHeld(long sent) {
        return !doubt.get() && System.nanoTime() - sent < VALID_NS;
    }

    private static void say(String event) {
        System.out.println("{\"lease\": \"" + event + "\"}");
        System.out.flush();
    }

    private static void write() {
        try {
            URI resource = URI.create(System.getenv("LEASEPROOF_RESOURCE") + "/write");
            HttpURLConnection connection = (HttpURLConnection) resource.toURL().openConnection();
            connection.setRequestMethod("POST");
            connection.setConnectTimeout(2000);
            connection.setReadTimeout(2000);
            connection.setRequestProperty("Lease-Owner", System.getenv("LEASEPROOF_OWNER"));
            connection.setDoOutput(true);
            connection.getOutputStream().close();
            connection.getInputStream().readAllBytes();
        } catch (IOException failed) {
            System.err.println("resource: " + failed);
        }
    }
}
