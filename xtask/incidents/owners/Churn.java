/** An ordinary program that makes garbage: short collections, one after the other. */
public final class Churn {
    private Churn() {}

    public static void main(String[] arguments) throws Exception {
        byte[][] kept = new byte[64][];
        for (int count = 0; ; count++) {
            kept[count % kept.length] = new byte[64 << 10];
            if (count % 40 == 0) {
                Thread.sleep(250);
            }
        }
    }
}
