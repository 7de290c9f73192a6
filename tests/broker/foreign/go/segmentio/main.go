// kafka-go's jobs on a broker. It has no idempotent or transactional producer.
package main

import (
	"context"
	"sort"
	"sync/atomic"
	"time"

	"foreign/jobs"

	"github.com/segmentio/kafka-go"
)

var codecs = map[string]kafka.Compression{
	"none": 0, "gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd,
}

type program struct {
	ctx       context.Context
	bootstrap string
	topic     string
}

func (p program) client() *kafka.Client { return &kafka.Client{Addr: kafka.TCP(p.bootstrap)} }

func (p program) administrate() jobs.Results {
	created, err := p.client().CreateTopics(p.ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{{
		Topic: p.topic, NumPartitions: jobs.Partitions, ReplicationFactor: 1,
		ConfigEntries: []kafka.ConfigEntry{{ConfigName: "retention.ms", ConfigValue: jobs.Retention}},
	}}})
	jobs.Check(err)
	jobs.Check(created.Errors[p.topic])
	metadata, err := p.client().Metadata(p.ctx, &kafka.MetadataRequest{Topics: []string{p.topic}})
	jobs.Check(err)
	described, err := p.client().DescribeConfigs(p.ctx, &kafka.DescribeConfigsRequest{
		Resources: []kafka.DescribeConfigRequestResource{{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: p.topic, ConfigNames: []string{"retention.ms"},
		}},
	})
	jobs.Check(err)
	return jobs.Results{
		"partitions": len(metadata.Topics[0].Partitions),
		"retention":  described.Resources[0].ConfigEntries[0].ConfigValue,
	}
}

func (p program) produce(codec string) {
	writer := &kafka.Writer{
		Addr: kafka.TCP(p.bootstrap), Topic: p.topic, Compression: codecs[codec],
		RequiredAcks: kafka.RequireAll, BatchTimeout: 10 * time.Millisecond,
	}
	defer writer.Close()
	var messages []kafka.Message
	for index := 0; index < jobs.EachCodec; index++ {
		messages = append(messages, kafka.Message{
			Key: jobs.Key(index), Value: jobs.Value(codec, index), Time: jobs.Time(index),
			Headers: []kafka.Header{{Key: "codec", Value: []byte(codec)}},
		})
	}
	jobs.Check(writer.WriteMessages(p.ctx, messages...))
}

func (p program) consume(group string) jobs.Results {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{p.bootstrap}, GroupID: group, Topic: p.topic, MaxWait: 100 * time.Millisecond,
		StartOffset: kafka.FirstOffset,
	})
	read := jobs.Read{}
	for read.Total() < jobs.EachCodec*len(codecs) {
		message, err := reader.FetchMessage(p.ctx)
		jobs.Check(err)
		read.Add(message.Key, message.Value, string(message.Headers[0].Value), message.Time)
		jobs.Check(reader.CommitMessages(p.ctx, message))
	}
	jobs.Check(reader.Close())
	offsets, err := p.client().OffsetFetch(p.ctx, &kafka.OffsetFetchRequest{
		GroupID: group, Topics: map[string][]int{p.topic: {0, 1, 2}},
	})
	jobs.Check(err)
	total := int64(0)
	for _, partition := range offsets.Topics[p.topic] {
		total += max(0, partition.CommittedOffset)
	}
	return jobs.Results{"read": read, "committed": total}
}

// member counts its partitions.
type member struct {
	group *kafka.ConsumerGroup
	owned atomic.Int32
}

func (p program) join(group string) *member {
	joined, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: group, Brokers: []string{p.bootstrap}, Topics: []string{p.topic},
		HeartbeatInterval: 100 * time.Millisecond, JoinGroupBackoff: 100 * time.Millisecond,
	})
	jobs.Check(err)
	m := &member{group: joined}
	go func() {
		for {
			generation, err := m.group.Next(p.ctx)
			if err == kafka.ErrGroupClosed {
				return
			} else if err == nil {
				m.owned.Store(int32(len(generation.Assignments[p.topic])))
			}
		}
	}()
	return m
}

func (p program) rebalance(group string) []int {
	first := p.join(group)
	jobs.WaitFor(p.ctx, "one has all", func() bool { return first.owned.Load() == jobs.Partitions })
	second := p.join(group)
	jobs.WaitFor(p.ctx, "both have some", func() bool {
		return first.owned.Load()+second.owned.Load() == jobs.Partitions && second.owned.Load() > 0
	})
	counts := []int{int(first.owned.Load()), int(second.owned.Load())}
	sort.Ints(counts)
	jobs.Check(second.group.Close())
	jobs.WaitFor(p.ctx, "the other has all", func() bool { return first.owned.Load() == jobs.Partitions })
	jobs.Check(first.group.Close())
	return counts
}

func main() {
	ctx, bootstrap, topic := jobs.Arguments()
	p := program{ctx, bootstrap, topic}
	results := jobs.Results{"admin": p.administrate()}
	for codec := range codecs {
		p.produce(codec)
	}
	results["group"] = p.consume(topic + "-classic")
	results["rebalance"] = p.rebalance(topic + "-classic-members")
	results.Print()
}
