package org.apache.kafka.connect.mirror;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * Answers questions about the records of MM2's internal topics and about names, a question and an answer a line. Strings are
 * the hex form of their UTF-8, "-" if empty; bytes are in hex, "-" if empty; null is "null"; a refusal is "error".
 * Replacement characters in a row, of which a JDK puts as many as it likes for bytes that are not UTF-8, are printed as one.
 *
 * <pre>
 * sync TOPIC PARTITION UPSTREAM DOWNSTREAM                    KEY VALUE
 * checkpoint GROUP TOPIC PARTITION UPSTREAM DOWNSTREAM META   KEY VALUE
 * heartbeat SOURCE TARGET MILLISECONDS                        KEY VALUE
 * sync? KEY VALUE, checkpoint? KEY VALUE, heartbeat? KEY VALUE   the fields in the order above
 * default SEPARATOR INTERNAL ALIAS TOPIC                      what the policy says: see {@link #policy}
 * identity SEPARATOR INTERNAL ALIAS TOPIC
 * </pre>
 */
final class Facts {
    private static final HexFormat HEX = HexFormat.of();

    public static void main(String[] args) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        StringBuilder out = new StringBuilder();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = answer(line.split(" "));
            } catch (RuntimeException e) {
                answer = "error";
            }
            out.append(answer).append('\n');
        }
        new PrintStream(System.out, false, StandardCharsets.US_ASCII).append(out).flush();
    }

    private static String answer(String[] w) {
        switch (w[0]) {
            case "sync": {
                OffsetSync s = new OffsetSync(new TopicPartition(text(w[1]), number(w[2])), Long.parseLong(w[3]), Long.parseLong(w[4]));
                return hex(s.recordKey()) + " " + hex(s.recordValue());
            }
            case "checkpoint": {
                Checkpoint c = new Checkpoint(text(w[1]), new TopicPartition(text(w[2]), number(w[3])), Long.parseLong(w[4]), Long.parseLong(w[5]), text(w[6]));
                return hex(c.recordKey()) + " " + hex(c.recordValue());
            }
            case "heartbeat": {
                Heartbeat h = new Heartbeat(text(w[1]), text(w[2]), Long.parseLong(w[3]));
                return hex(h.recordKey()) + " " + hex(h.recordValue());
            }
            case "sync?": {
                OffsetSync s = OffsetSync.deserializeRecord(read(w));
                return text(s.topicPartition()) + " " + s.upstreamOffset() + " " + s.downstreamOffset();
            }
            case "checkpoint?": {
                Checkpoint c = Checkpoint.deserializeRecord(read(w));
                return hex(c.consumerGroupId()) + " " + text(c.topicPartition()) + " " + c.upstreamOffset() + " " + c.downstreamOffset() + " " + hex(c.metadata());
            }
            case "heartbeat?": {
                Heartbeat h = Heartbeat.deserializeRecord(read(w));
                return hex(h.sourceClusterAlias()) + " " + hex(h.targetClusterAlias()) + " " + h.timestamp();
            }
            case "default":
                return policy(new DefaultReplicationPolicy(), w);
            case "identity":
                return policy(new IdentityReplicationPolicy(), w);
            default:
                throw new IllegalArgumentException(w[0]);
        }
    }

    /** Remote topic, source, upstream topic, original topic, internal, checkpoints, heartbeats; then the names of the internal topics. */
    private static String policy(DefaultReplicationPolicy p, String[] w) {
        Map<String, String> config = new HashMap<>();
        config.put("replication.policy.separator", text(w[1]));
        config.put("replication.policy.internal.topic.separator.enabled", w[2]);
        config.put("source.cluster.alias", text(w[3]));
        p.configure(config);
        String alias = text(w[3]);
        String topic = text(w[4]);
        return String.join(" ",
            hex(p.formatRemoteTopic(alias, topic)), hex(p.topicSource(topic)), hex(p.upstreamTopic(topic)), hex(p.originalTopic(topic)),
            Boolean.toString(p.isInternalTopic(topic)), Boolean.toString(p.isCheckpointsTopic(topic)), Boolean.toString(p.isHeartbeatsTopic(topic)),
            hex(p.offsetSyncsTopic(alias)), hex(p.checkpointsTopic(alias)), hex(p.heartbeatsTopic()));
    }

    private static ConsumerRecord<byte[], byte[]> read(String[] w) {
        return new ConsumerRecord<>("t", 0, 0, bytes(w[1]), bytes(w[2]));
    }

    private static int number(String s) {
        return Integer.parseInt(s);
    }

    private static byte[] bytes(String s) {
        return s.equals("-") ? new byte[0] : HEX.parseHex(s);
    }

    private static String text(String s) {
        return new String(bytes(s), StandardCharsets.UTF_8);
    }

    private static String text(TopicPartition tp) {
        return hex(tp.topic()) + " " + tp.partition();
    }

    private static String hex(String s) {
        return s == null ? "null" : hex(s.replaceAll("\uFFFD+", "\uFFFD").getBytes(StandardCharsets.UTF_8));
    }

    private static String hex(byte[] b) {
        return b.length == 0 ? "-" : HEX.formatHex(b);
    }
}
