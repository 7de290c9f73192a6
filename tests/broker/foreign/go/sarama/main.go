// Sarama's jobs on a broker.
package main

import (
	"context"
	"sort"
	"sync/atomic"
	"time"

	"foreign/jobs"

	"github.com/IBM/sarama"
)

var codecs = map[string]sarama.CompressionCodec{
	"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
	"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
}

type program struct {
	ctx       context.Context
	bootstrap []string
	topic     string
}

func settings() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Idempotent = true
	config.Net.MaxOpenRequests = 1
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	config.Consumer.Group.Heartbeat.Interval = 100 * time.Millisecond
	return config
}

func (p program) admin() sarama.ClusterAdmin {
	admin, err := sarama.NewClusterAdmin(p.bootstrap, settings())
	jobs.Check(err)
	return admin
}

func (p program) administrate() jobs.Results {
	admin := p.admin()
	defer admin.Close()
	retention := jobs.Retention
	jobs.Check(admin.CreateTopic(p.topic, &sarama.TopicDetail{
		NumPartitions: jobs.Partitions, ReplicationFactor: 1,
		ConfigEntries: map[string]*string{"retention.ms": &retention},
	}, false))
	jobs.Check(admin.CreateTopic(p.topic+"-copied", &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false))
	topics, err := admin.DescribeTopics([]string{p.topic})
	jobs.Check(err)
	resource := sarama.ConfigResource{Type: sarama.TopicResource, Name: p.topic, ConfigNames: []string{"retention.ms"}}
	entries, err := admin.DescribeConfig(resource)
	jobs.Check(err)
	return jobs.Results{"partitions": len(topics[0].Partitions), "retention": entries[0].Value}
}

func (p program) produce(codec string) {
	config := settings()
	config.Producer.Compression = codecs[codec]
	producer, err := sarama.NewSyncProducer(p.bootstrap, config)
	jobs.Check(err)
	defer producer.Close()
	var messages []*sarama.ProducerMessage
	for index := 0; index < jobs.EachCodec; index++ {
		messages = append(messages, &sarama.ProducerMessage{
			Topic: p.topic, Key: sarama.ByteEncoder(jobs.Key(index)),
			Value:   sarama.ByteEncoder(jobs.Value(codec, index)),
			Headers: []sarama.RecordHeader{{Key: []byte("codec"), Value: []byte(codec)}}, Timestamp: jobs.Time(index),
		})
	}
	jobs.Check(producer.SendMessages(messages))
}

// member counts its partitions, and hands on what it reads.
type member struct {
	group    sarama.ConsumerGroup
	topic    string
	owned    atomic.Int32
	messages chan *sarama.ConsumerMessage
	session  atomic.Value
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.session.Store(session)
	m.owned.Store(int32(len(session.Claims()[m.topic])))
	return nil
}

func (m *member) Cleanup(sarama.ConsumerGroupSession) error {
	m.owned.Store(0)
	return nil
}

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		select {
		case m.messages <- message:
			session.MarkMessage(message, "")
		case <-session.Context().Done():
			return nil
		}
	}
	return nil
}

func (p program) join(group string) *member {
	joined, err := sarama.NewConsumerGroup(p.bootstrap, group, settings())
	jobs.Check(err)
	m := &member{group: joined, topic: p.topic, messages: make(chan *sarama.ConsumerMessage, 1000)}
	go func() {
		for m.group.Consume(p.ctx, []string{p.topic}, m) == nil {
		}
	}()
	return m
}

func (p program) consume(group string) jobs.Results {
	reader := p.join(group)
	read := jobs.Read{}
	for read.Total() < jobs.EachCodec*len(codecs) {
		message := <-reader.messages
		read.Add(message.Key, message.Value, string(message.Headers[0].Value), message.Timestamp)
	}
	// What is handed on is marked at once, and yet a moment later.
	jobs.WaitFor(p.ctx, "all is committed", func() bool {
		reader.session.Load().(sarama.ConsumerGroupSession).Commit()
		return p.committed(group) == int64(read.Total())
	})
	jobs.Check(reader.group.Close())
	return jobs.Results{"read": read, "committed": p.committed(group)}
}

func (p program) committed(group string) int64 {
	admin := p.admin()
	defer admin.Close()
	offsets, err := admin.ListConsumerGroupOffsets(group, nil)
	jobs.Check(err)
	total := int64(0)
	for _, block := range offsets.Blocks[p.topic] {
		total += max(0, block.Offset)
	}
	return total
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

func (p program) transact() jobs.Results {
	group, copied, total := p.topic+"-copying", p.topic+"-copied", jobs.EachCodec*len(codecs)
	config := settings()
	config.Producer.Transaction.ID = p.topic
	producer, err := sarama.NewSyncProducer(p.bootstrap, config)
	jobs.Check(err)
	defer producer.Close()
	send := func(value []byte) {
		_, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: copied, Value: sarama.ByteEncoder(value)})
		jobs.Check(err)
	}
	jobs.Check(producer.BeginTxn())
	send([]byte("never"))
	jobs.Check(producer.AbortTxn())
	reader := p.join(group)
	jobs.Check(producer.BeginTxn())
	for sent := 0; sent < total; sent++ {
		message := <-reader.messages
		send(message.Value)
		jobs.Check(producer.AddMessageToTxn(message, group, nil))
	}
	jobs.Check(producer.CommitTxn())
	jobs.Check(reader.group.Close())
	consumer, err := sarama.NewConsumer(p.bootstrap, settings())
	jobs.Check(err)
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(copied, 0, sarama.OffsetOldest)
	jobs.Check(err)
	aborted, read := 0, 0
	for read < total {
		if message := <-partition.Messages(); string(message.Value) == "never" {
			aborted++
		} else {
			read++
		}
	}
	return jobs.Results{"read": read, "aborted": aborted, "committed": p.committed(group)}
}

func main() {
	ctx, bootstrap, topic := jobs.Arguments()
	p := program{ctx, []string{bootstrap}, topic}
	results := jobs.Results{"admin": p.administrate()}
	for codec := range codecs {
		p.produce(codec)
	}
	results["group"] = p.consume(topic + "-classic")
	results["rebalance"] = p.rebalance(topic + "-classic-members")
	results["transactions"] = p.transact()
	results.Print()
}
