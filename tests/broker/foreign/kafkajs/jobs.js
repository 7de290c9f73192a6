// kafkajs' jobs on a broker. It has gzip itself and snappy by a package; lz4 and zstd need packages with native code.
const { Kafka, CompressionTypes, CompressionCodecs, ConfigResourceTypes, logLevel } = require('kafkajs')
CompressionCodecs[CompressionTypes.Snappy] = require('kafkajs-snappy')

const [bootstrap, topic] = process.argv.slice(2)
const kafka = new Kafka({ brokers: [bootstrap], logLevel: logLevel.NOTHING, retry: { initialRetryTime: 20 } })
const CODECS = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy }
const PARTITIONS = 3
const EACH_CODEC = 20
const FIRST_TIME_MS = 1_700_000_000_000
const TOTAL = Object.keys(CODECS).length * EACH_CODEC
const indexes = [...Array(EACH_CODEC).keys()]
const admin = kafka.admin()

const until = async (isSo) => {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 10))
}

async function administrate() {
  const configEntries = [{ name: 'retention.ms', value: '86400000' }]
  const topics = [
    { topic, numPartitions: PARTITIONS, replicationFactor: 1, configEntries },
    { topic: `${topic}-copied`, numPartitions: 1, replicationFactor: 1 },
  ]
  await admin.createTopics({ topics, waitForLeaders: true })
  const described = await admin.describeConfigs({
    resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configNames: ['retention.ms'] }],
  })
  const metadata = await admin.fetchTopicMetadata({ topics: [topic] })
  return {
    partitions: metadata.topics[0].partitions.length,
    retention: described.resources[0].configEntries[0].configValue,
  }
}

async function produce(codec) {
  const producer = kafka.producer({ idempotent: true })
  await producer.connect()
  const messages = indexes.map((index) => ({
    key: `key ${index}`, value: `${codec} ${index}`, headers: { codec }, timestamp: `${FIRST_TIME_MS + index}`,
  }))
  await producer.send({ topic, messages, compression: CODECS[codec] })
  await producer.disconnect()
}

async function join(groupId, eachMessage, fromTopic = topic) {
  const consumer = kafka.consumer({ groupId, heartbeatInterval: 100, maxWaitTimeInMs: 200 })
  const member = { consumer, owned: 0 }
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    member.owned = (payload.memberAssignment[fromTopic] || []).length
  })
  await consumer.connect()
  await consumer.subscribe({ topic: fromTopic, fromBeginning: true })
  await consumer.run({ autoCommit: false, eachMessage })
  return member
}

async function consume(groupId) {
  const read = {}
  const next = {}
  let total = 0
  const { consumer } = await join(groupId, async ({ partition, message }) => {
    const codec = message.headers.codec.toString()
    const index = Number(message.timestamp) - FIRST_TIME_MS
    const isAsSent = `${message.key}` === `key ${index}` && `${message.value}` === `${codec} ${index}`
    const name = isAsSent ? codec : `strange: ${message.value}`
    read[name] = (read[name] || 0) + 1
    next[partition] = Number(message.offset) + 1
    total += 1
  })
  await until(() => total >= TOTAL)
  await consumer.commitOffsets(
    Object.entries(next).map(([partition, offset]) => ({ topic, partition: Number(partition), offset: `${offset}` })),
  )
  await consumer.disconnect()
  return { read, committed: await committed(groupId) }
}

async function committed(groupId) {
  const [{ partitions }] = await admin.fetchOffsets({ groupId, topics: [topic] })
  return partitions.reduce((sum, { offset }) => sum + Math.max(0, Number(offset)), 0)
}

async function rebalance(groupId) {
  const first = await join(groupId, async () => {})
  await until(() => first.owned === PARTITIONS)
  const second = await join(groupId, async () => {})
  await until(() => first.owned + second.owned === PARTITIONS && second.owned > 0)
  const counts = [first.owned, second.owned].sort()
  await second.consumer.disconnect()
  await until(() => first.owned === PARTITIONS)
  await first.consumer.disconnect()
  return counts
}

async function transact() {
  const copied = `${topic}-copied`
  const groupId = `${topic}-copying`
  const producer = kafka.producer({ transactionalId: topic, idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  const dropped = await producer.transaction()
  await dropped.send({ topic: copied, messages: [{ value: 'never' }] })
  await dropped.abort()
  const found = []
  const next = {}
  const { consumer } = await join(groupId, async ({ partition, message }) => {
    found.push(message.value)
    next[partition] = Number(message.offset) + 1
  })
  await until(() => found.length >= TOTAL)
  await consumer.disconnect()
  const kept = await producer.transaction()
  await kept.send({ topic: copied, messages: found.map((value) => ({ value })) })
  const partitions = Object.entries(next).map(([partition, offset]) => ({ partition: Number(partition), offset: `${offset}` }))
  await kept.sendOffsets({ consumerGroupId: groupId, topics: [{ topic, partitions }] })
  await kept.commit()
  await producer.disconnect()
  let read = 0
  let aborted = 0
  const reader = await join(`${topic}-copied`, async ({ message }) => {
    if (`${message.value}` === 'never') aborted += 1
    else read += 1
  }, copied)
  await until(() => read >= TOTAL)
  await reader.consumer.disconnect()
  return { read, aborted, committed: await committed(groupId) }
}

async function main() {
  await admin.connect()
  const results = { admin: await administrate() }
  for (const codec of Object.keys(CODECS)) await produce(codec)
  results.group = await consume(`${topic}-classic`)
  results.rebalance = await rebalance(`${topic}-classic-members`)
  results.transactions = await transact()
  await admin.disconnect()
  console.log(JSON.stringify(results))
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
