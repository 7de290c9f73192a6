"""Which names each generation gives away from where. Knows no values."""

from __future__ import annotations

HOME_OF_NAMES = {
    "AsyncConsumerRebalanceListener": "kafka.consumer.subscription_state",
    "BrokerConnection": "kafka.conn",
    "ConsumerGroupMetadata": "kafka.structs",
    "ConsumerRebalanceListener": "kafka.consumer.subscription_state",
    "DefaultSerializer": "kafka.serializer",
    "Deserializer": "kafka.serializer",
    "HashedPartitioner": "kafka.partitioner",
    "IsolationLevel": "kafka.protocol.consumer",
    "JsonSerializer": "kafka.serializer",
    "KafkaAdminClient": "kafka.admin",
    "KafkaConsumer": "kafka.consumer",
    "KafkaProducer": "kafka.producer",
    "KeyedProducer": "kafka.producer",
    "MultiProcessConsumer": "kafka.consumer",
    "Murmur2Partitioner": "kafka.partitioner",
    "OffsetAndMetadata": "kafka.structs",
    "OffsetSpec": "kafka.protocol.consumer",
    "RoundRobinPartitioner": "kafka.partitioner",
    "Serializer": "kafka.serializer",
    "SimpleClient": "kafka.client",
    "SimpleConsumer": "kafka.consumer",
    "SimpleProducer": "kafka.producer",
    "TopicPartition": "kafka.structs",
    "TopicPartitionReplica": "kafka.structs",
    "create_gzip_message": "kafka.protocol",
    "create_message": "kafka.protocol",
    "create_snappy_message": "kafka.protocol",
}
"""Where a name of `kafka` comes from, in each generation. KafkaClient is not the same in all."""

MODULES = frozenset(
    {
        *("admin", "client", "client_async", "cluster", "codec", "common", "conn", "consumer", "coordinator"),
        *("errors", "future", "metrics", "net", "partitioner", "producer", "protocol", "record", "sasl"),
        *("serializer", "structs", "util"),
    }
)
"""What is an attribute of `kafka` once it is imported, since the originals import them."""

KAFKA_NAMES_OF_1 = (
    *("BrokerConnection", "HashedPartitioner", "KafkaClient", "KafkaConsumer", "KafkaProducer"),
    *("KeyedProducer", "MultiProcessConsumer", "RoundRobinPartitioner", "SimpleClient", "SimpleConsumer"),
    *("SimpleProducer", "create_gzip_message", "create_message", "create_snappy_message"),
)
KAFKA_NAMES_OF_2 = (
    *("BrokerConnection", "ConsumerRebalanceListener", "KafkaAdminClient", "KafkaClient", "KafkaConsumer"),
    "KafkaProducer",
)
KAFKA_NAMES_OF_3 = (
    *("AsyncConsumerRebalanceListener", "ConsumerGroupMetadata", "ConsumerRebalanceListener"),
    *("DefaultSerializer", "Deserializer", "IsolationLevel", "JsonSerializer", "KafkaAdminClient"),
    *("KafkaConsumer", "KafkaProducer", "OffsetAndMetadata", "OffsetSpec", "Serializer", "TopicPartition"),
    "TopicPartitionReplica",
)
