//go:build integration

package integration

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// broker is a cluster of one real broker that is its own controller (KRaft). Everybody on its plain listener may do
// anything; user "mirror" on its SASL listener may do what ACLs allow.
type broker struct {
	name      string
	dir       string
	addr      string // PLAINTEXT
	secured   string // SASL_PLAINTEXT with PLAIN
	*process         // nil while stopped
	clusterID string
}

const (
	mirrorUser     = "mirror"
	mirrorPassword = "mirror-secret"
)

// newBroker formats a broker's storage under dir; ports are looked for from port on.
func newBroker(dir, name string, port int) (*broker, error) {
	var ports [3]int
	for i := range ports {
		free, err := freePort(port)
		if err != nil {
			return nil, err
		}
		ports[i], port = free, free+1
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	id[0] &= 0x7f        // a dash in front would be an option to the tools
	b := &broker{
		name: name, dir: filepath.Join(dir, name), clusterID: base64.RawURLEncoding.EncodeToString(id),
		addr: "127.0.0.1:" + strconv.Itoa(ports[0]), secured: "127.0.0.1:" + strconv.Itoa(ports[1]),
	}
	if err := os.Mkdir(b.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	controller := "127.0.0.1:" + strconv.Itoa(ports[2])
	if err := os.WriteFile(b.properties(), []byte(b.config(controller)), 0o600); err != nil {
		return nil, fmt.Errorf("write properties: %w", err)
	}
	format := java("-Xmx64m", "kafka.tools.StorageTool", "format", "--config", b.properties(), "--cluster-id", b.clusterID)
	if out, err := exec.Command(format[0], format[1:]...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("format storage of %s: %w: %s", name, err, out)
	}
	return b, nil
}

func (b *broker) properties() string { return filepath.Join(b.dir, "server.properties") }

// config is a broker's server.properties. Retention is off, for records of 1970 would expire at once; sizes are small, for
// two brokers, the function and the tests share one machine.
func (b *broker) config(controller string) string {
	return strings.Join([]string{
		"process.roles=broker,controller",
		"node.id=1",
		"controller.quorum.voters=1@" + controller,
		"listeners=PLAIN://" + b.addr + ",SECURED://" + b.secured + ",CONTROLLER://" + controller,
		"advertised.listeners=PLAIN://" + b.addr + ",SECURED://" + b.secured,
		"listener.security.protocol.map=PLAIN:PLAINTEXT,SECURED:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
		"inter.broker.listener.name=PLAIN",
		"controller.listener.names=CONTROLLER",
		"sasl.enabled.mechanisms=PLAIN",
		"listener.name.secured.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required" +
			" user_" + mirrorUser + "=\"" + mirrorPassword + "\";",
		"authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users=User:ANONYMOUS",
		"log.dirs=" + filepath.Join(b.dir, "data"),
		"auto.create.topics.enable=false",
		"num.partitions=1",
		"default.replication.factor=1",
		"offsets.topic.replication.factor=1",
		"offsets.topic.num.partitions=1",
		"transaction.state.log.replication.factor=1",
		"transaction.state.log.min.isr=1",
		"transaction.state.log.num.partitions=1",
		"share.coordinator.state.topic.replication.factor=1",
		"log.retention.ms=-1",
		"log.cleaner.backoff.ms=200",
		"log.cleaner.dedupe.buffer.size=4194304",
		"group.initial.rebalance.delay.ms=0",
	}, "\n") + "\n"
}

// start starts a stopped broker and returns when it serves requests.
func (b *broker) start(ctx context.Context) error {
	command := java("-Xmx512m", "kafka.Kafka", b.properties())
	p, err := run(filepath.Join(b.dir, "server.log"), nil, command...)
	if err != nil {
		return fmt.Errorf("start %s: %w", b.name, err)
	}
	b.process = p
	client, err := kgo.NewClient(kgo.SeedBrokers(b.addr))
	if err != nil {
		return fmt.Errorf("configure client: %w", err)
	}
	defer client.Close()
	const limit = time.Minute
	if err := p.await(ctx, limit, func() error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		// The first question about a group makes the broker create the topic of offsets, which takes a while.
		_, err := kadm.NewClient(client).FetchOffsets(ctx, "ready")
		return err
	}); err != nil {
		return fmt.Errorf("start %s: %w", b.name, err)
	}
	return nil
}

// stop kills the broker as a power cut would, but for the page cache, which keeps what it has written.
func (b *broker) stop() {
	if b.process != nil {
		b.kill()
		b.process = nil
	}
}

// java is a command line that runs a class of Kafka's.
func java(heap string, args ...string) []string {
	jars := filepath.Join(os.Getenv("TIDEMARK_KAFKA"), "*")
	return append([]string{"java", heap, "-XX:+UseSerialGC", "-Djava.net.preferIPv4Stack=true", "-cp", jars}, args...)
}
