//! What Jackson reads with Spark's settings and JSON is not, written as JSON: texts in single quotation marks, bare
//! `NaN` and infinities, `-0`, and halves of surrogate pairs.

const HALF_OF_A_PAIR: u8 = b'?';

/// The document in JSON proper. None where it has nothing of the kind.
pub fn to_strict(text: &[u8]) -> Option<Vec<u8>> {
    let mut writer = Writer { output: Vec::with_capacity(text.len() + 16), has_changed: false };
    let mut rest = text;
    while let Some(&first) = rest.first() {
        rest = match first {
            b'"' | b'\'' => writer.string(first, &rest[1..]),
            b'N' | b'I' | b'+' | b'-' => writer.word(rest),
            _ => writer.copy(rest, 1),
        };
    }
    writer.has_changed.then_some(writer.output)
}

/// Its methods take what is left of the text, and return what is left after them.
struct Writer {
    output: Vec<u8>,
    has_changed: bool,
}

impl Writer {
    fn copy<'a>(&mut self, rest: &'a [u8], count: usize) -> &'a [u8] {
        let (copied, rest) = rest.split_at(count.min(rest.len()));
        self.output.extend_from_slice(copied);
        rest
    }

    fn put(&mut self, bytes: &[u8]) {
        self.output.extend_from_slice(bytes);
        self.has_changed = true;
    }

    /// `rest` begins after the quotation mark.
    fn string<'a>(&mut self, mark: u8, mut rest: &'a [u8]) -> &'a [u8] {
        self.output.push(b'"');
        self.has_changed |= mark == b'\'';
        while let Some(&first) = rest.first() {
            rest = match first {
                _ if first == mark => {
                    self.output.push(b'"');
                    return &rest[1..];
                }
                b'"' => {
                    self.put(b"\\\"");
                    &rest[1..]
                }
                b'\\' => self.escape(rest),
                _ => self.copy(rest, 1),
            };
        }
        rest
    }

    fn escape<'a>(&mut self, rest: &'a [u8]) -> &'a [u8] {
        if rest.starts_with(b"\\'") {
            self.put(b"'");
            return &rest[2..];
        }
        match code_unit(rest) {
            Some(0xd800..0xdc00) if matches!(code_unit(&rest[6..]), Some(0xdc00..0xe000)) => {
                self.copy(rest, 12)
            }
            Some(0xd800..0xe000) => {
                self.put(&[HALF_OF_A_PAIR]);
                &rest[6..]
            }
            Some(_) => self.copy(rest, 6),
            None => self.copy(rest, 2),
        }
    }

    fn word<'a>(&mut self, rest: &'a [u8]) -> &'a [u8] {
        let is_within = self
            .output
            .last()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'+'));
        let length = rest
            .iter()
            .position(|byte| byte.is_ascii_whitespace() || matches!(byte, b',' | b']' | b'}' | b':'))
            .unwrap_or(rest.len());
        let (word, after) = rest.split_at(length);
        let is_key = after.trim_ascii_start().first() == Some(&b':');
        match word {
            _ if is_within || is_key => return self.copy(rest, 1),
            b"-0" => self.put(b"0"),
            b"NaN" | b"Infinity" | b"+Infinity" | b"-Infinity" | b"+INF" | b"-INF" => {
                self.put(b"\"");
                self.put(word);
                self.put(b"\"");
            }
            _ => return self.copy(rest, 1),
        }
        after
    }
}

/// Of an escape such as `\u00e9` at the beginning of the text.
fn code_unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |unit, &digit| Some(unit << 4 | char::from(digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strict(text: &str) -> Option<String> {
        to_strict(text.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn what_jackson_takes_becomes_json() {
        for (text, expected) in [
            ("{'a': 'b'}", r#"{"a": "b"}"#),
            (r"{'it\'s': 'a\n\u00e9'}", r#"{"it's": "a\n\u00e9"}"#),
            (r#"['"', "'"]"#, r#"["\"", "'"]"#),
            ("[NaN, Infinity , -INF]", r#"["NaN", "Infinity" , "-INF"]"#),
            ("NaN", r#""NaN""#),
            ("[-0,-0.5,1e-0]", "[0,-0.5,1e-0]"),
            (r#"["\ud83d", "\ud83dx", "\ud83d\ude00", "\ude00"]"#, r#"["?", "?x", "\ud83d\ude00", "?"]"#),
        ] {
            assert_eq!(strict(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn other_documents_are_left_alone() {
        for text in [
            "",
            r#"{"a": [1, -2.5e-3, "NaN", "'", "\"\\"], "b": null}"#,
            "{NaN: 1, Infinity : 2}",
            "[INF, -NaN, NaNs, xNaN]",
            r#"["\u12", "unclosed"#,
            r#"["\"#,
        ] {
            assert_eq!(strict(text), None, "{text}");
        }
    }
}
