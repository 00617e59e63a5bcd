import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Runs a worker in a JVM with a great live heap, and collects it in full when a file appears: a real collection of some
 * seconds. Arguments: nodes in millions, the file, the worker's class, its arguments.
 */
public final class Ballast {
    private static final class Node {
        Node next;
        long payload;
    }

    private static Node[] rows;

    private Ballast() {}

    public static void main(String[] arguments) throws Exception {
        int millions = Integer.parseInt(arguments[0]);
        Path asked = Path.of(arguments[1]);
        rows = new Node[4096];
        for (long count = 0; count < millions * 1_000_000L; count++) {
            Node node = new Node();
            int row = (int) ((count * 2654435761L) & 4095);
            node.next = rows[row];
            rows[row] = node;
        }
        Thread collector = new Thread(() -> {
            try {
                while (!Files.exists(asked)) {
                    Thread.sleep(20);
                }
                System.gc();
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
        }, "housekeeping");
        collector.setDaemon(true);
        collector.start();
        String[] rest = new String[arguments.length - 3];
        System.arraycopy(arguments, 3, rest, 0, rest.length);
        Class.forName(arguments[2]).getMethod("main", String[].class).invoke(null, (Object) rest);
    }
}
