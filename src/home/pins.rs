//! Root pins: which ledgers this person trusts, kept outside every ledger, like known_hosts.
//!
//! One pin a line: the ledger's id or `*`, the root key, and, if wanted, a comment, with one space
//! between. Empty lines and lines that begin with `#` say nothing. Any other line is an error.

use super::files::{self, FileError, Links, Present};
use super::lock::{self, LockError};
use super::paths::user;
use super::surroundings::Custody;
use crate::key::{self, KeyFault};
use crate::types::{LedgerId, PublicKey};
use std::fmt;
use std::path::{Path, PathBuf};

/// Largest pins file, in bytes.
pub const PINS_BYTES_MAX: u64 = 1024 * 1024;
/// Longest comment, in bytes.
pub const COMMENT_BYTES_MAX: usize = 256;

/// What a pin holds for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinnedLedger {
    /// The one ledger of this id.
    One(LedgerId),
    /// Every ledger whose root is the pin's key.
    Any,
}

impl fmt::Display for PinnedLedger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PinnedLedger::One(id) => id.fmt(f),
            PinnedLedger::Any => f.write_str("*"),
        }
    }
}

/// The word that a root key is to be believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// For which ledger.
    pub ledger: PinnedLedger,
    /// The root key.
    pub root: PublicKey,
    /// Whose it is, for people; may be empty.
    pub comment: String,
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.ledger, self.root)?;
        if self.comment.is_empty() {
            Ok(())
        } else {
            write!(f, " {}", self.comment)
        }
    }
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PinFault {
    /// The first word.
    #[error("expected a ledger id of 64 hexadecimal digits or *, found {0:?}")]
    Ledger(String),
    /// The second word.
    #[error("expected a root key of 64 hexadecimal digits, found {0:?}")]
    Root(String),
    /// The root key is none to verify with.
    #[error("the root key: {0}")]
    Unfit(KeyFault),
    /// The rest.
    #[error("expected a comment of at most 256 bytes, trimmed and printable, found {0:?}")]
    Comment(String),
}

/// Why pins could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum PinError {
    /// A line that is no pin. Nothing of the file is believed.
    #[error("{}, line {line}: {fault}", path.display())]
    Line {
        /// The pins file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong.
        fault: PinFault,
    },
    /// The pin to be added is none.
    #[error(transparent)]
    Unfit(PinFault),
    /// The file is not text.
    #[error("expected {} to be UTF-8, found other bytes", path.display())]
    NotText {
        /// The pins file.
        path: PathBuf,
    },
    /// Others could add a pin.
    #[error("expected {} to be this user's alone to write, found mode {mode:04o} of user {owner}",
        path.display())]
    Exposed {
        /// The pins file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
        /// Its owner's user id.
        owner: u32,
    },
    /// One ledger has one root: event 0, which its id is a hash of, names it.
    #[error("expected root key {pinned} for ledger {ledger}, as pinned, found {given}")]
    OtherRoot {
        /// The ledger.
        ledger: LedgerId,
        /// The root that is pinned.
        pinned: PublicKey,
        /// The root that was to be added.
        given: PublicKey,
    },
    /// Another process is changing the pins and does not end.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The system refused.
    #[error(transparent)]
    File(#[from] FileError),
}

impl PinError {
    /// What to type so that it goes on.
    pub fn next(&self) -> String {
        match self {
            PinError::Line { path, line, .. } => {
                format!("correct or delete line {line} of {}", path.display())
            }
            PinError::Unfit(_) => "handoff trust add KEY".to_owned(),
            PinError::NotText { path } => format!("move {} away, then pin anew", path.display()),
            PinError::Exposed { path, owner, .. } if *owner == user() => {
                format!("chmod go-w {}", path.display())
            }
            PinError::Exposed { path, .. } => {
                format!(
                    "look at what is in {}, move it away, then pin anew",
                    path.display()
                )
            }
            PinError::OtherRoot { pinned, .. } => format!("handoff trust remove {pinned}"),
            PinError::Lock(_) => "try again".to_owned(),
            PinError::File(_) => "--trust KEY pins for one command".to_owned(),
        }
    }
}

/// What adding a pin did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It is in the file now.
    New,
    /// It was there already, perhaps with another comment, which stays.
    Present,
}

/// The pins of a file as it was when read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pins {
    lines: Vec<Line>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Line {
    Pin(Pin),
    Silent(String),
}

impl Pins {
    /// Reads the pins; a file that is not there holds none.
    ///
    /// # Errors
    ///
    /// Any line that is no pin; a file that is another user's or that others can write, is too
    /// large, or is not a file.
    pub fn read(path: &Path) -> Result<Pins, PinError> {
        let file = match files::read(path, PINS_BYTES_MAX, Links::Follow) {
            Ok(file) => file,
            Err(error) if error.is_absent() => return Ok(Pins::default()),
            Err(error) => return Err(error.into()),
        };
        if !file.custody.is_own_word() {
            let (path, Custody { mode, owner, .. }) = (path.to_owned(), file.custody);
            return Err(PinError::Exposed { path, mode, owner });
        }
        let text = String::from_utf8(file.bytes).map_err(|_| PinError::NotText {
            path: path.to_owned(),
        })?;
        let lines = text.strip_suffix('\n').unwrap_or(&text).split('\n');
        let lines: Result<_, _> = lines
            .enumerate()
            .map(|(index, line)| {
                parse(line).map_err(|fault| PinError::Line {
                    path: path.to_owned(),
                    line: index + 1,
                    fault,
                })
            })
            .collect();
        Ok(Pins { lines: lines? })
    }

    /// The pins, in the order of the file.
    pub fn list(&self) -> impl Iterator<Item = &Pin> {
        self.lines.iter().filter_map(|line| match line {
            Line::Pin(pin) => Some(pin),
            Line::Silent(_) => None,
        })
    }

    /// Whether the root of a ledger is pinned, for it or for every ledger of that root.
    pub fn trusts(&self, ledger: &LedgerId, root: &PublicKey) -> bool {
        let holds_for = |pinned: PinnedLedger| match pinned {
            PinnedLedger::One(id) => id == *ledger,
            PinnedLedger::Any => true,
        };
        self.list()
            .any(|pin| pin.root == *root && holds_for(pin.ledger))
    }

    fn to_text(&self) -> String {
        let lines = self.lines.iter().map(|line| match line {
            Line::Pin(pin) => format!("{pin}\n"),
            Line::Silent(text) => format!("{text}\n"),
        });
        lines.collect()
    }
}

/// Adds a pin to the file, which is made if need be. Two that add at once lose nothing.
///
/// # Errors
///
/// A pin that could not be read back; another root pinned for the same ledger; the faults of
/// [`Pins::read`]; a lock that stays held; a refusal by the system. Then nothing is changed.
pub fn add(path: &Path, pin: Pin) -> Result<Added, PinError> {
    let as_read = parse(&pin.to_string()).map_err(PinError::Unfit)?;
    if as_read != Line::Pin(pin.clone()) {
        return Err(PinError::Unfit(PinFault::Comment(pin.comment)));
    }
    change(path, |pins| {
        let same = |known: &&Pin| known.ledger == pin.ledger;
        if pins.list().filter(same).any(|known| known.root == pin.root) {
            return Ok(Added::Present);
        }
        if let (PinnedLedger::One(ledger), Some(known)) = (pin.ledger, pins.list().find(same)) {
            return Err(PinError::OtherRoot {
                ledger,
                pinned: known.root,
                given: pin.root,
            });
        }
        pins.lines.push(Line::Pin(pin));
        Ok(Added::New)
    })
}

/// Removes every pin that `unwanted` picks, and tells which.
///
/// # Errors
///
/// As [`add`], but for those of the new pin.
pub fn remove(path: &Path, unwanted: impl Fn(&Pin) -> bool) -> Result<Vec<Pin>, PinError> {
    change(path, |pins| {
        let mut removed = Vec::new();
        pins.lines.retain(|line| match line {
            Line::Pin(pin) if unwanted(pin) => {
                removed.push(pin.clone());
                false
            }
            Line::Pin(_) | Line::Silent(_) => true,
        });
        Ok(removed)
    })
}

/// Reads, changes and replaces the pins under a lock. The lock is on a file of its own, since the
/// pins file is another one after each change.
fn change<T>(
    path: &Path,
    edit: impl FnOnce(&mut Pins) -> Result<T, PinError>,
) -> Result<T, PinError> {
    // What a link leads to is replaced, not the link.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    files::make_folder(files::folder_of(&path))?;
    let _lock = lock::lock(&path)?;
    let before = Pins::read(&path)?;
    let mut after = before.clone();
    let outcome = edit(&mut after)?;
    if after != before {
        files::write(&path, after.to_text().as_bytes(), Present::Replace)?;
    }
    Ok(outcome)
}

fn parse(line: &str) -> Result<Line, PinFault> {
    if line.is_empty() || line.starts_with('#') {
        return Ok(Line::Silent(line.to_owned()));
    }
    let mut words = line.splitn(3, ' ');
    let (ledger, root) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let ledger = match ledger {
        "*" => PinnedLedger::Any,
        id => PinnedLedger::One(id.parse().map_err(|_| PinFault::Ledger(id.to_owned()))?),
    };
    let root: PublicKey = root.parse().map_err(|_| PinFault::Root(root.to_owned()))?;
    key::check(&root).map_err(PinFault::Unfit)?;
    let comment = words.next();
    let fit = |text: &str| {
        !text.is_empty()
            && text.len() <= COMMENT_BYTES_MAX
            && text.trim() == text
            && !text.contains(char::is_control)
    };
    match comment {
        Some(text) if !fit(text) => Err(PinFault::Comment(text.to_owned())),
        _ => Ok(Line::Pin(Pin {
            ledger,
            root,
            comment: comment.unwrap_or("").to_owned(),
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::SigningKey;

    fn root() -> PublicKey {
        SigningKey::from_seed([3; 32]).public()
    }

    #[test]
    fn a_line_has_one_form() {
        let (id, key) = (LedgerId([5; 32]), root());
        let good = format!("{id} {key} who it is");
        let parsed = Line::Pin(Pin {
            ledger: PinnedLedger::One(id),
            root: key,
            comment: "who it is".into(),
        });
        assert_eq!(parse(&good), Ok(parsed));
        for bad in [
            format!(" {good}"),
            format!("{good} "),
            format!("{good}\r"),
            format!("{id}  {key}"),
            format!("{id}\t{key}"),
            format!("{id} {key} "),
            format!("{id} {key}  two spaces"),
            format!("{id} {key} \u{1b}[2J"),
            format!("{id} {key} {}", "c".repeat(COMMENT_BYTES_MAX + 1)),
            format!("{id}"),
            format!("** {key}"),
            format!("{id} {}", key.to_string().to_uppercase()),
            format!("{} {key}", &id.to_string()[1..]),
            " ".to_owned(),
        ] {
            assert!(parse(&bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_unfit_key_is_no_root() {
        let small = PublicKey([0; 32]);
        let unfit = PinFault::Unfit(KeyFault::SmallOrder);
        assert_eq!(parse(&format!("* {small}")), Err(unfit));
    }
}
