//! Checksums and hashes that Kafka's formats and partitioners are made of.

/// CRC-32C (Castagnoli), of record batches; `value` continues an earlier checksum.
pub fn crc32c(data: &[u8], value: u32) -> u32 {
    crc32c::crc32c_append(value, data)
}

/// CRC-32 (IEEE), of message sets of magic 0 and 1, and of librdkafka's `consistent` partitioner.
pub fn crc32(data: &[u8]) -> u32 {
    crc32fast::hash(data)
}

/// MurmurHash2 with Kafka's seed: the hash of keys in the Java client's partitioner.
pub fn murmur2(data: &[u8]) -> i32 {
    const SEED: u32 = 0x9747_b28c;
    const MULTIPLIER: u32 = 0x5bd1_e995;
    let mut hash = SEED ^ data.len() as u32;
    let mut words = data.chunks_exact(4);
    for word in &mut words {
        let mut k = u32::from_le_bytes([word[0], word[1], word[2], word[3]]).wrapping_mul(MULTIPLIER);
        k ^= k >> 24;
        hash = hash.wrapping_mul(MULTIPLIER) ^ k.wrapping_mul(MULTIPLIER);
    }
    let rest = words.remainder();
    for (position, &byte) in rest.iter().enumerate() {
        hash ^= u32::from(byte) << (8 * position);
    }
    if !rest.is_empty() {
        hash = hash.wrapping_mul(MULTIPLIER);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(MULTIPLIER);
    (hash ^ (hash >> 15)) as i32
}

/// FNV-1a of 32 bits.
pub fn fnv1a(data: &[u8]) -> u32 {
    data.iter().fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc32c_gives_the_known_check_value() {
        assert_eq!(crc32c(b"123456789", 0), 0xe306_9283);
        assert_eq!(crc32c(b"6789", crc32c(b"12345", 0)), 0xe306_9283);
    }

    #[test]
    fn murmur2_gives_the_values_of_the_java_client() {
        let known: [(&[u8], i32); 7] = [
            (b"21", -973_932_308),
            (b"foobar", -790_332_482),
            (b"a-little-bit-long-string", -985_981_536),
            (b"a-little-bit-longer-string", -1_486_304_829),
            (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
            (b"abc", 479_470_107),
            (b"", 275_646_681),
        ];
        for (data, hash) in known {
            assert_eq!(murmur2(data), hash, "{data:?}");
        }
    }

    #[test]
    fn fnv1a_gives_the_published_values() {
        assert_eq!(fnv1a(b""), 0x811c_9dc5);
        assert_eq!(fnv1a(b"a"), 0xe40c_292c);
        assert_eq!(fnv1a(b"foobar"), 0xbf9c_f968);
    }
}
