"""What confluent_kafka and mapr_streams_python share: librdkafka's behaviour as Python programs see it."""
