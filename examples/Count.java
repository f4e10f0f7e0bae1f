// A benchmark as JMH makes one: warm-up first, then what is measured. perf counts only that part: it is told when by a
// pipe (perf stat --control), so no native code is needed.
//   mkfifo ctl ack
//   pcl perf stat -D -1 --control fifo:ctl,ack -e instructions:u -- java -Xint Count.java
import java.io.FileInputStream;
import java.io.FileOutputStream;

class Count {
    static long sum;

    static void measured() {
        for (long i = 0; i < 100000; i++)
            sum += i;
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 20; i++)
            measured();
        try (var ctl = new FileOutputStream("ctl"); var ack = new FileInputStream("ack")) {
            ctl.write("enable\n".getBytes());
            ack.read(new byte[16]); // perf answers "ack"
            measured();
            ctl.write("disable\n".getBytes());
            ack.read(new byte[16]);
        }
        System.out.println("sum " + sum);
    }
}
