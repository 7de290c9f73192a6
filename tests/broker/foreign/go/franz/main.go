// franz-go's jobs on a broker.
package main

import (
	"context"
	"sort"
	"sync"
	"time"

	"foreign/jobs"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

type program struct {
	ctx       context.Context
	bootstrap string
	topic     string
}

func (p program) client(options ...kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(p.bootstrap))...)
	jobs.Check(err)
	return client
}

func (p program) administrate() jobs.Results {
	admin := kadm.NewClient(p.client())
	defer admin.Close()
	configs := map[string]*string{"retention.ms": kadm.StringPtr(jobs.Retention)}
	_, err := admin.CreateTopic(p.ctx, jobs.Partitions, 1, configs, p.topic)
	jobs.Check(err)
	_, err = admin.CreateTopic(p.ctx, 1, 1, nil, p.topic+"-copied")
	jobs.Check(err)
	topics, err := admin.ListTopics(p.ctx, p.topic)
	jobs.Check(err)
	described, err := admin.DescribeTopicConfigs(p.ctx, p.topic)
	jobs.Check(err)
	retention := ""
	for _, config := range described[0].Configs {
		if config.Key == "retention.ms" {
			retention = config.MaybeValue()
		}
	}
	return jobs.Results{"partitions": len(topics[p.topic].Partitions), "retention": retention}
}

func (p program) produce(codec string) {
	client := p.client(kgo.ProducerBatchCompression(codecs[codec]))
	defer client.Close()
	var records []*kgo.Record
	for index := 0; index < jobs.EachCodec; index++ {
		headers := []kgo.RecordHeader{{Key: "codec", Value: []byte(codec)}}
		records = append(records, &kgo.Record{
			Topic: p.topic, Key: jobs.Key(index), Value: jobs.Value(codec, index),
			Headers: headers, Timestamp: jobs.Time(index),
		})
	}
	jobs.Check(client.ProduceSync(p.ctx, records...).FirstErr())
}

func (p program) consume(ctx context.Context, group string) jobs.Results {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(p.bootstrap), kgo.WithContext(ctx), kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(p.topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	jobs.Check(err)
	defer client.Close()
	read := jobs.Read{}
	for read.Total() < jobs.EachCodec*len(codecs) {
		fetches := client.PollFetches(p.ctx)
		jobs.Check(fetches.Err())
		fetches.EachRecord(func(record *kgo.Record) {
			read.Add(record.Key, record.Value, string(record.Headers[0].Value), record.Timestamp)
		})
	}
	jobs.Check(client.CommitUncommittedOffsets(p.ctx))
	return jobs.Results{"read": read, "committed": p.committed(group)}
}

func (p program) committed(group string) int64 {
	admin := kadm.NewClient(p.client())
	defer admin.Close()
	offsets, err := admin.FetchOffsets(p.ctx, group)
	jobs.Check(err)
	total := int64(0)
	offsets.Each(func(offset kadm.OffsetResponse) { total += offset.At })
	return total
}

// member counts its partitions.
type member struct {
	mutex  sync.Mutex
	owned  int
	client *kgo.Client
}

func (p program) join(ctx context.Context, group string) *member {
	joined := &member{}
	change := func(sign int) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, changed map[string][]int32) {
			joined.mutex.Lock()
			defer joined.mutex.Unlock()
			joined.owned += sign * len(changed[p.topic])
		}
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(p.bootstrap), kgo.WithContext(ctx), kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(p.topic), kgo.HeartbeatInterval(100*time.Millisecond),
		kgo.OnPartitionsAssigned(change(1)), kgo.OnPartitionsRevoked(change(-1)), kgo.OnPartitionsLost(change(-1)),
	)
	jobs.Check(err)
	joined.client = client
	go func() {
		for fetches := client.PollFetches(p.ctx); !fetches.IsClientClosed(); fetches = client.PollFetches(p.ctx) {
		}
	}()
	return joined
}

func (m *member) count() int {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.owned
}

func (p program) rebalance(ctx context.Context, group string) []int {
	first := p.join(ctx, group)
	jobs.WaitFor(p.ctx, "one has all", func() bool { return first.count() == jobs.Partitions })
	second := p.join(ctx, group)
	isShared := func() bool { return first.count()+second.count() == jobs.Partitions && second.count() > 0 }
	jobs.WaitFor(p.ctx, "both have some", isShared)
	counts := []int{first.count(), second.count()}
	sort.Ints(counts)
	second.client.Close()
	jobs.WaitFor(p.ctx, "the other has all", func() bool { return first.count() == jobs.Partitions })
	first.client.Close()
	return counts
}

func (p program) transact() jobs.Results {
	group, copied, total := p.topic+"-copying", p.topic+"-copied", jobs.EachCodec*len(codecs)
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(p.bootstrap), kgo.TransactionalID(p.topic), kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(p.topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.DefaultProduceTopic(copied),
	)
	jobs.Check(err)
	jobs.Check(session.Begin())
	jobs.Check(session.ProduceSync(p.ctx, kgo.StringRecord("never")).FirstErr())
	_, err = session.End(p.ctx, kgo.TryAbort)
	jobs.Check(err)
	for sent := 0; sent < total; {
		jobs.Check(session.Begin())
		fetches := session.PollFetches(p.ctx)
		jobs.Check(fetches.Err())
		for _, record := range fetches.Records() {
			session.Produce(p.ctx, &kgo.Record{Value: record.Value}, func(_ *kgo.Record, err error) { jobs.Check(err) })
		}
		committed, err := session.End(p.ctx, kgo.TryCommit)
		jobs.Check(err)
		if committed {
			sent += fetches.NumRecords()
		}
	}
	session.Close()
	reader := p.client(
		kgo.ConsumeTopics(copied), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	defer reader.Close()
	aborted, read := 0, 0
	for read < total {
		reader.PollFetches(p.ctx).EachRecord(func(record *kgo.Record) {
			if string(record.Value) == "never" {
				aborted++
			} else {
				read++
			}
		})
	}
	return jobs.Results{"read": read, "aborted": aborted, "committed": p.committed(group)}
}

func main() {
	ctx, bootstrap, topic := jobs.Arguments()
	p := program{ctx, bootstrap, topic}
	results := jobs.Results{"admin": p.administrate()}
	for codec := range codecs {
		p.produce(codec)
	}
	// The consumer protocol is asked for in this way by franz-go 1.22.
	newest := context.WithValue(ctx, "opt_in_kafka_next_gen_balancer_beta", true)
	results["group"] = p.consume(ctx, topic+"-classic")
	results["rebalance"] = p.rebalance(ctx, topic+"-classic-members")
	results["consumer protocol group"] = p.consume(newest, topic+"-consumer")
	results["consumer protocol rebalance"] = p.rebalance(newest, topic+"-consumer-members")
	results["transactions"] = p.transact()
	results.Print()
}
