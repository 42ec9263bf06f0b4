// How fast does JGroups' RELAY carry messages to another site? Nobody there answers: it has no such word.
//
// java -cp jgroups.jar -Dsite=LON -Dhere=IP -Dboth=IP[7900],IP[7900] -Dbridge=bridge.xml Relayed.java
//     take|send MESSAGES SIZE READY
// READY is a file that is there while somebody takes.
//
// Prints what the clients in Python print. Time is that of the machine since it was started, in s.

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jgroups.JChannel;
import org.jgroups.Message;
import org.jgroups.ReceiverAdapter;

public class Relayed extends ReceiverAdapter {
    static final long QUIET = 30_000; // ms without a message after which what is missing is lost
    final boolean[] seen;
    int count, doubled, disordered, highest = -1;
    volatile double last;
    volatile long heard = System.currentTimeMillis();

    Relayed(int messages) { seen = new boolean[messages]; }

    static double now() throws Exception { // as Python's time.monotonic()
        return Double.parseDouble(Files.readString(Path.of("/proc/uptime")).split(" ")[0]);
    }

    @Override public synchronized void receive(Message message) {
        int number = ByteBuffer.wrap(message.getRawBuffer(), message.getOffset(), 4).getInt();
        if (seen[number]) doubled++;
        else {
            if (number < highest) disordered++;
            count++;
        }
        seen[number] = true;
        highest = Math.max(highest, number);
        heard = System.currentTimeMillis();
        if (count == seen.length) notifyAll();
    }

    public static void main(String[] args) throws Exception {
        int messages = Integer.parseInt(args[1]), size = Integer.parseInt(args[2]);
        Relayed it = new Relayed(messages);
        JChannel channel = new JChannel(System.getProperty("local"));
        if (args[0].equals("take")) channel.setReceiver(it);
        channel.connect("site-" + System.getProperty("site"));
        if (args[0].equals("take")) take(it, args[3]);
        else send(channel, messages, size, Path.of(args[3]));
        System.exit(0);
    }

    static void take(Relayed it, String ready) throws Exception {
        Files.createFile(Path.of(ready));
        synchronized (it) {
            it.heard = System.currentTimeMillis();
            while (it.count < it.seen.length && System.currentTimeMillis() - it.heard < QUIET) it.wait(1000);
        }
        Files.delete(Path.of(ready));
        System.out.printf("{\"last\": %s, \"cpu\": 0, \"lost\": %d, \"doubled\": %d, \"disordered\": %d}%n",
            now(), it.seen.length - it.count, it.doubled, it.disordered);
    }

    static void send(JChannel channel, int messages, int size, Path taken) throws Exception {
        long end = System.currentTimeMillis() + 60_000;
        while (channel.getView().size() < 2 && System.currentTimeMillis() < end) Thread.sleep(100);
        double began = now();
        for (int number = 0; number < messages; number++) {
            byte[] content = new byte[size];
            ByteBuffer.wrap(content).putInt(number);
            channel.send(new Message(null, null, content));
        }
        double answered = now();
        // Whoever leaves takes along what is not sent yet.
        for (end += QUIET; Files.exists(taken) && System.currentTimeMillis() < end; ) Thread.sleep(100);
        System.out.printf("{\"began\": %s, \"answered\": %s, \"cpu\": 0}%n", began, answered);
    }
}
