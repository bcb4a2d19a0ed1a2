import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.mirror.MirrorClient;
import org.apache.kafka.connect.mirror.RemoteClusterUtils;

/** Prints what MM2's client says about a target: arguments are the source's alias, a group, and the client's properties as NAME=VALUE. */
final class Client {
    public static void main(String[] args) throws Exception {
        String alias = args[0];
        String group = args[1];
        Map<String, Object> config = new HashMap<>();
        for (int i = 2; i < args.length; i++) {
            String[] pair = args[i].split("=", 2);
            config.put(pair[0], pair[1]);
        }
        try (MirrorClient client = new MirrorClient(config)) {
            System.out.println("upstreamClusters " + new TreeSet<>(client.upstreamClusters()));
            System.out.println("replicationHops " + client.replicationHops(alias));
            System.out.println("heartbeatTopics " + new TreeSet<>(client.heartbeatTopics()));
            System.out.println("checkpointTopics " + new TreeSet<>(client.checkpointTopics()));
            System.out.println("remoteTopics " + new TreeSet<>(client.remoteTopics(alias)));
        }
        Map<TopicPartition, OffsetAndMetadata> offsets = RemoteClusterUtils.translateOffsets(config, alias, group, Duration.ofSeconds(10));
        Map<String, String> sorted = new TreeMap<>();
        offsets.forEach((partition, offset) -> sorted.put(partition.toString(), offset.offset() + "/" + offset.metadata()));
        System.out.println("translateOffsets " + sorted);
    }
}
