package org.apache.kafka.connect.mirror;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.OptionalLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * Plays histories of Java's own OffsetSyncStore, whose constructor and start are private to this package. A history comes on
 * standard input, one step a line:
 *
 * <pre>
 * load MODE                            a new store; MODE is history or latest; what follows is its initial read
 * loaded                               the initial read ends
 * sync PARTITION UPSTREAM DOWNSTREAM   the next record of the topic
 * ask PARTITION UPSTREAM               prints the translation, or "none"
 * </pre>
 */
final class Harness extends OffsetSyncStore {
    private static final BufferedReader IN = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
    private static final StringBuilder OUT = new StringBuilder();

    public static void main(String[] args) throws IOException {
        Harness store = null;
        for (String line = IN.readLine(); line != null; line = IN.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("load")) {
                store = new Harness();
                store.start(words[1].equals("latest"));
            } else {
                store.step(words);
            }
        }
        new PrintStream(System.out, false, StandardCharsets.US_ASCII).append(OUT).flush();
    }

    /** Called by start, which takes the initial read for finished when it returns. */
    @Override
    void backingStoreStart() {
        try {
            for (String line = IN.readLine(); !line.equals("loaded"); line = IN.readLine()) {
                step(line.split(" "));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void step(String[] words) {
        TopicPartition partition = new TopicPartition("orders", Integer.parseInt(words[1]));
        long upstream = Long.parseLong(words[2]);
        switch (words[0]) {
            case "sync" -> {
                OffsetSync sync = new OffsetSync(partition, upstream, Long.parseLong(words[3]));
                handleRecord(new ConsumerRecord<>("offset-syncs", 0, 0, sync.recordKey(), sync.recordValue()));
            }
            case "ask" -> {
                OptionalLong answer = translateDownstream("group", partition, upstream);
                OUT.append(answer.isPresent() ? Long.toString(answer.getAsLong()) : "none").append('\n');
            }
            default -> throw new IllegalArgumentException(String.join(" ", words));
        }
    }
}
