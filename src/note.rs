//! Signed notes: text, and lines of signatures over it (C2SP signed-note and tlog-cosignature).
//!
//! A note is only ever worth what a key that the reader knows says of it: [`Note::signed`]. Lines
//! of other keys are carried along and mean nothing.

use crate::types::{ParseError, hex};
use crate::verifier_key::{KEY_ID_BYTES, is_key_name};
pub use crate::verifier_key::{SignatureType, VerifierKey, from_base64, to_base64};
use std::fmt;
use std::str::FromStr;

/// Longest note, in bytes: room for 16 signatures of 5 kB each, which a reader must take.
pub const NOTE_BYTES_MAX: u64 = 262_144;
/// Most signature lines that are looked at; the specification asks for at least 16.
pub const SIGNATURES_MAX: usize = 64;
/// What every signature line begins with: an em dash and a space.
const SIGNATURE_START: &str = "\u{2014} ";
/// Why a text is no note, or none that a known key signed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// More than a note may hold.
    #[error("expected at most {NOTE_BYTES_MAX} bytes of a note, found {found}")]
    TooLarge {
        /// How many bytes there are.
        found: u64,
    },
    /// Not UTF-8, or a control character other than the end of a line.
    #[error("expected plain text, found byte {byte:#04x} at {at}")]
    NotText {
        /// The byte's place.
        at: usize,
        /// The byte.
        byte: u8,
    },
    /// No blank line followed by whole signature lines.
    #[error("expected a text, an empty line and lines of signatures, found no such parts")]
    NoSignatures,
    /// A line below the text that is no signature.
    #[error("expected a dash, a name and a base64 signature in signature line {line}")]
    Line {
        /// Number of the line below the text, from 1.
        line: usize,
    },
    /// More signatures than are looked at.
    #[error("expected at most {SIGNATURES_MAX} signatures, found {found}")]
    TooManySignatures {
        /// How many there are.
        found: usize,
    },
    /// A line names a known key, and its signature is not that key's.
    #[error("expected a valid signature of {name} ({id}), found another")]
    Signature {
        /// The key's name.
        name: String,
        /// The key's id, in hexadecimal.
        id: String,
    },
}

/// A signature line of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    name: String,
    id: [u8; KEY_ID_BYTES],
    bytes: Vec<u8>,
}

impl Signature {
    /// The name of the key that it says it is of.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn is_of(&self, key: &VerifierKey) -> bool {
        self.name == key.name() && self.id == key.id()
    }
}

/// Prints the line, without its end.
impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [&self.id[..], &self.bytes].concat();
        write!(f, "{SIGNATURE_START}{} {}", self.name, to_base64(&bytes))
    }
}

/// A line without its end, in the one spelling.
impl FromStr for Signature {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused = || ParseError::new("a signature line: a dash, a name, base64", text);
        let rest = text.strip_prefix(SIGNATURE_START).ok_or_else(refused)?;
        let (name, base64) = rest.split_once(' ').ok_or_else(refused)?;
        let bytes = from_base64(base64).ok_or_else(refused)?;
        let (id, bytes) = bytes.split_first_chunk().ok_or_else(refused)?;
        if !is_key_name(name) || bytes.is_empty() {
            return Err(refused());
        }
        Ok(Signature {
            name: name.to_owned(),
            id: *id,
            bytes: bytes.to_vec(),
        })
    }
}

impl VerifierKey {
    /// The line of a signature by this key: of 64 bytes, or of a time in seconds since 1970 and
    /// 64 bytes if it is a witness's.
    pub fn line(&self, time: Option<u64>, signature: &[u8; 64]) -> Signature {
        let time = time.map(u64::to_be_bytes);
        let time = time.as_ref().map_or(&[][..], |bytes| bytes);
        Signature {
            name: self.name().to_owned(),
            id: self.id(),
            bytes: [time, signature].concat(),
        }
    }
}

/// A valid signature of a known key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed<'a> {
    /// The key.
    pub key: &'a VerifierKey,
    /// When it signed, in seconds since 1970, if it says so.
    pub time: Option<u64>,
}

/// A text and the lines of signatures below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    text: String,
    signatures: Vec<Signature>,
}

impl Note {
    /// A note of a text that ends with a line's end, with one signature.
    pub fn new(text: String, signature: Signature) -> Note {
        let signatures = vec![signature];
        Note { text, signatures }
    }

    /// Reads a note. Of each there is one spelling: printing it gives the same bytes.
    ///
    /// # Errors
    ///
    /// What keeps it from being one. Whether anybody signed it is not looked at.
    pub fn parse(bytes: &[u8]) -> Result<Note, NoteError> {
        let whole = plain_text(bytes)?;
        let (text, below) = whole.rsplit_once("\n\n").ok_or(NoteError::NoSignatures)?;
        let lines = below.strip_suffix('\n').ok_or(NoteError::NoSignatures)?;
        let found = lines.split('\n').count();
        if found > SIGNATURES_MAX {
            return Err(NoteError::TooManySignatures { found });
        }
        let parsed = lines.split('\n').enumerate().map(|(index, line)| {
            let line = line.parse();
            line.map_err(|_: ParseError| NoteError::Line { line: index + 1 })
        });
        Ok(Note {
            text: format!("{text}\n"),
            signatures: parsed.collect::<Result<_, _>>()?,
        })
    }

    /// The text, with the end of its last line.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The signature lines.
    pub fn signatures(&self) -> &[Signature] {
        &self.signatures
    }

    /// Adds a signature line.
    pub fn add(&mut self, signature: Signature) {
        self.signatures.push(signature);
    }

    /// The valid signatures of known keys, in their order; none at all if no known key signed.
    ///
    /// # Errors
    ///
    /// [`NoteError::Signature`] if a line names a known key but is not its signature: then nothing
    /// of the note is to be believed.
    pub fn signed<'a>(&self, known: &'a [VerifierKey]) -> Result<Vec<Signed<'a>>, NoteError> {
        let mut signed = Vec::new();
        for signature in &self.signatures {
            let named = known.iter().filter(|key| signature.is_of(key));
            let mut named = named.peekable();
            if named.peek().is_none() {
                continue;
            }
            let valid = named.find_map(|key| {
                let time = key.check(&self.text, &signature.bytes)?;
                Some(Signed { key, time })
            });
            signed.push(valid.ok_or_else(|| NoteError::Signature {
                name: signature.name.clone(),
                id: hex(&signature.id),
            })?);
        }
        Ok(signed)
    }
}

/// Prints the note as it is signed and read.
impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        for signature in &self.signatures {
            writeln!(f, "{signature}")?;
        }
        Ok(())
    }
}

/// The text that bytes spell, if it has no control character but the end of a line.
fn plain_text(bytes: &[u8]) -> Result<&str, NoteError> {
    let found = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if found > NOTE_BYTES_MAX {
        return Err(NoteError::TooLarge { found });
    }
    let not_text = |at: usize| NoteError::NotText {
        at,
        byte: bytes.get(at).copied().unwrap_or_default(),
    };
    let text = std::str::from_utf8(bytes).map_err(|error| not_text(error.valid_up_to()))?;
    let control = |byte: &u8| *byte < b' ' && *byte != b'\n';
    match bytes.iter().position(control) {
        Some(at) => Err(not_text(at)),
        None => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{self, SigningKey};
    use crate::verifier_key::COSIGNED_MAX;

    /// The example of C2SP signed-note: its verifier key and its note.
    const EXAMPLE_KEY: &str =
        "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";
    const EXAMPLE: &str = concat!(
        "This is an example message.\n\n",
        "— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n",
    );
    /// The note of the tests of the Go module that the format comes from, and its two keys.
    const PETER_KEY: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    const ENOCH_KEY: &str = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop";
    const PETER: &str = concat!(
        "If you think cryptography is the answer to your problem,\n",
        "then you don't know what your problem is.\n\n",
        "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n",
    );
    /// The example of C2SP tlog-cosignature. Its keys are not published.
    const COSIGNED: &str = concat!(
        "example.com/behind-the-sofa\n",
        "20852163\n",
        "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n",
        "— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n",
        "— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==\n",
    );
    /// A cosignature of that text under the secret key of RFC 8032 section 7.1, TEST 3, made with
    /// another program (Python's `cryptography`).
    const OTHER_KEY: &str =
        "witness.example.com/w1+1a9273ae+BPxRzY5iGKGjjaR+0AIw8FgIFu0TujMDrF3rkRVIkIAl";
    const OTHER_LINE: &str = concat!(
        "— witness.example.com/w1 ",
        "GpJzrgAAAABkGFDLBrQRsEaDhcXPFOeg6IvpW03KqJpfEXpc+i/9Xezb8NHFPw52jM1XKZM2zz76xGI723ctKrve+KTdEQv2vtDHDA==",
    );

    fn key(text: &str) -> VerifierKey {
        text.parse().unwrap()
    }

    fn names<'a>(signed: &[Signed<'a>]) -> Vec<(&'a str, Option<u64>)> {
        signed.iter().map(|it| (it.key.name(), it.time)).collect()
    }

    #[test]
    fn the_example_of_the_specification_verifies_byte_for_byte() {
        let note = Note::parse(EXAMPLE.as_bytes()).unwrap();
        assert_eq!(note.to_string(), EXAMPLE);
        assert_eq!(note.text(), "This is an example message.\n");
        let known = [key(EXAMPLE_KEY)];
        assert_eq!(known[0].to_string(), EXAMPLE_KEY);
        let signed = note.signed(&known).unwrap();
        assert_eq!(names(&signed), [("example.com/foo", None)]);
        let other = EXAMPLE.replace("example message", "example massage");
        let note = Note::parse(other.as_bytes()).unwrap();
        assert!(matches!(
            note.signed(&known),
            Err(NoteError::Signature { .. })
        ));
    }

    #[test]
    fn the_note_of_the_go_module_verifies_and_a_key_that_is_not_known_is_passed_over() {
        let enoch = concat!(
            "— EnochRoot ",
            "rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n",
        );
        let both = format!("{PETER}{enoch}");
        let note = Note::parse(both.as_bytes()).unwrap();
        let known = [key(PETER_KEY), key(ENOCH_KEY)];
        let told = names(&note.signed(&known).unwrap());
        assert_eq!(told, [("PeterNeumann", None), ("EnochRoot", None)]);
        assert_eq!(
            names(&note.signed(&known[..1]).unwrap()),
            [("PeterNeumann", None)]
        );
        assert_eq!(note.signed(&[]), Ok(vec![]));
    }

    #[test]
    fn the_example_of_a_cosignature_has_its_time_and_its_message() {
        let note = Note::parse(COSIGNED.as_bytes()).unwrap();
        assert_eq!(note.to_string(), COSIGNED);
        let cosignature = &note.signatures()[1];
        assert_eq!(cosignature.bytes[..8], 1_679_315_147u64.to_be_bytes());
        let message = key::cosignature_message(1_679_315_147, note.text());
        assert_eq!(
            String::from_utf8(message).unwrap(),
            "cosignature/v1\ntime 1679315147\nexample.com/behind-the-sofa\n20852163\n\
             CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
        );
    }

    #[test]
    fn a_cosignature_is_the_one_that_another_program_makes() {
        let seed = crate::types::parse_hex(
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        );
        let signer = SigningKey::from_seed(seed.unwrap());
        let mut note = Note::parse(COSIGNED.as_bytes()).unwrap();
        let witness = key(OTHER_KEY);
        let (time, text) = (1_679_315_147, note.text().to_owned());
        let line = witness.line(Some(time), &signer.cosign_note(time, &text));
        assert_eq!(line.to_string(), OTHER_LINE);
        note.add(OTHER_LINE.parse().unwrap());
        let known = [witness];
        let told = names(&note.signed(&known).unwrap());
        assert_eq!(told, [("witness.example.com/w1", Some(time))]);
        // The same signature under another time, or a time beyond what there may be.
        for time in [time + 1, COSIGNED_MAX + 1] {
            let line = known[0].line(Some(time), &signer.cosign_note(1_679_315_147, &text));
            let note = Note::new(text.clone(), line);
            assert!(note.signed(&known).is_err(), "{time}");
        }
        let late = COSIGNED_MAX + 1;
        let note = Note::new(
            text.clone(),
            known[0].line(Some(late), &signer.cosign_note(late, &text)),
        );
        assert!(note.signed(&known).is_err());
    }

    #[test]
    fn a_note_of_another_form_is_none() {
        let (text, line) = EXAMPLE.split_once("\n\n").unwrap();
        let base64 = line.trim_end().rsplit_once(' ').unwrap().1;
        for bad in [
            String::new(),
            text.to_owned(),
            format!("{text}\n"),
            format!("{text}\n\n"),
            format!("{text}\n{line}"),
            format!("{text}\n\n{}", line.trim_end()),
            format!("{text}\n\n{line}\n"),
            format!("{text}\n\n{line}{line}no line\n"),
            format!("{text}\n\n-- example.com/foo {base64}\n"),
            format!("{text}\n\n—  {base64}\n"),
            format!("{text}\n\n— example.com/foo  {base64}\n"),
            format!("{text}\n\n— example.com/foo {base64} \n"),
            format!("{text}\n\n— example+com/foo {base64}\n"),
            format!("{text}\n\n— example\u{a0}com/foo {base64}\n"),
            format!(
                "{text}\n\n— example.com/foo {}\n",
                base64.trim_end_matches('=')
            ),
            format!(
                "{text}\n\n— example.com/foo {}\n",
                base64.replace("QM=", "QN=")
            ),
            format!("{text}\n\n— example.com/foo AAAAAA==\n"),
            format!("{text}\t\n\n{line}"),
            format!("{text}\r\n\n{line}"),
            format!("{text}\0\n\n{line}"),
        ] {
            assert!(Note::parse(bad.as_bytes()).is_err(), "{bad:?}");
        }
        let not_utf8 = [b"\xff\n\n", line.as_bytes()].concat();
        let refused = Note::parse(&not_utf8);
        assert_eq!(refused, Err(NoteError::NotText { at: 0, byte: 0xff }));
        let large = format!(
            "{}\n\n{line}",
            "a".repeat(NOTE_BYTES_MAX.try_into().unwrap())
        );
        assert!(matches!(
            Note::parse(large.as_bytes()),
            Err(NoteError::TooLarge { .. })
        ));
    }

    #[test]
    fn sixteen_large_signatures_are_taken_and_too_many_are_not() {
        let large = to_base64(&[7; 5000]);
        let line = format!("— later.example/post-quantum {large}\n");
        let note = format!("{EXAMPLE}{}", line.repeat(16));
        let parsed = Note::parse(note.as_bytes()).unwrap();
        assert_eq!(parsed.signatures().len(), 17);
        assert_eq!(parsed.signed(&[key(EXAMPLE_KEY)]).unwrap().len(), 1);
        let line = EXAMPLE.split_once("\n\n").unwrap().1;
        for (lines, taken) in [(SIGNATURES_MAX, true), (SIGNATURES_MAX + 1, false)] {
            let note = format!("text\n\n{}", line.repeat(lines));
            assert_eq!(Note::parse(note.as_bytes()).is_ok(), taken);
        }
    }

    #[test]
    fn a_name_or_an_id_alone_makes_no_known_key_but_both_must_verify() {
        let (text, line) = EXAMPLE.split_once("\n\n").unwrap();
        let signature: Signature = line.trim_end().parse().unwrap();
        let with = |change: &dyn Fn(&mut Signature)| {
            let mut changed = signature.clone();
            change(&mut changed);
            Note::new(format!("{text}\n"), changed)
        };
        let known = [key(EXAMPLE_KEY)];
        for unknown in [with(&|it| it.name.push('x')), with(&|it| it.id[0] ^= 1)] {
            assert_eq!(unknown.signed(&known), Ok(vec![]));
        }
        for wrong in [
            with(&|it| it.bytes[0] ^= 1),
            with(&|it| _ = it.bytes.pop()),
            with(&|it| it.bytes.push(0)),
        ] {
            assert!(wrong.signed(&known).is_err());
            // Though a good one stands beside it.
            let mut both = wrong.clone();
            both.add(signature.clone());
            assert!(both.signed(&known).is_err());
        }
    }
}
