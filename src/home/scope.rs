//! The scope of a session: on which host, since which boot, in which namespaces, under which root.
//!
//! What an observation says holds within its scope. Two containers on one host differ in their
//! namespaces, a restart in the boot id, two worktrees in the root.

use super::files::{self, FileError};
use crate::hash;
use crate::types::Digest;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The namespaces that make a difference to a probe (namespaces(7)).
const NAMESPACES: [&str; 6] = ["ipc", "mnt", "net", "pid", "user", "uts"];

/// This machine's name for itself (machine-id(5)).
const MACHINE_ID: &str = "/etc/machine-id";
/// What it holds on a machine that has none yet.
const NO_MACHINE_ID: &str = "uninitialized";
/// Its name for the time since it started (random(4)).
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// How many hexadecimal digits either has.
const ID_DIGITS: usize = 32;
/// Largest file of either, in bytes.
const ID_BYTES_MAX: u64 = 1024;

/// Why the scope could not be told.
///
/// A part that is not there, or not for this user, is left out, and stays so. One that is there
/// and cannot be read is no reason to take this for another place.
#[derive(Debug, thiserror::Error)]
pub enum ScopeError {
    /// The root does not exist, or cannot be reached.
    #[error("expected a folder at {}, found: {source}", root.display())]
    Root {
        /// The root as given.
        root: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The root's path has no text.
    #[error("expected a path in UTF-8, found {}", root.display())]
    NotUtf8 {
        /// The root's canonical path.
        root: PathBuf,
    },
    /// The system failed at a part.
    #[error("cannot tell which machine this is: {0}")]
    Unread(#[from] FileError),
    /// A part is not what the system writes.
    #[error(
        "cannot tell which machine this is: expected {expected} in {}, found {found:?}",
        path.display()
    )]
    Garbled {
        /// The file or link.
        path: PathBuf,
        /// What is there on a sound system.
        expected: String,
        /// What was found.
        found: String,
    },
}

impl ScopeError {
    /// What to type, so that it goes on.
    pub fn next(&self) -> String {
        match self {
            ScopeError::Root { .. } | ScopeError::NotUtf8 { .. } => {
                "cd FOLDER, one that is there and has a name in UTF-8".to_owned()
            }
            ScopeError::Unread(_) => "the same command again".to_owned(),
            ScopeError::Garbled { path, .. } => {
                format!("cat {0} or readlink {0}, and put it right", path.display())
            }
        }
    }
}

/// Where a session runs. Its members stand in the order of their names, so that it serialises to
/// canonical JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Scope {
    #[serde(skip_serializing_if = "Option::is_none")]
    boot: Option<String>,
    host: String,
    namespaces: BTreeMap<&'static str, String>,
    root: String,
}

impl Scope {
    /// The scope of this process, with `root` as the session's root.
    ///
    /// The host is the machine id (machine-id(5)), or the host's name where there is none. The
    /// boot id and the namespaces are left out where the system has none or does not tell them.
    ///
    /// # Errors
    ///
    /// When `root` has no canonical path, or one that is not UTF-8; a part that cannot be read
    /// though it is there, or is not what it must be.
    pub fn of_process(root: &Path) -> Result<Scope, ScopeError> {
        let canonical = root.canonicalize().map_err(|source| ScopeError::Root {
            root: root.to_owned(),
            source,
        })?;
        let root = canonical
            .into_os_string()
            .into_string()
            .map_err(|root| ScopeError::NotUtf8 { root: root.into() })?;
        Ok(Scope {
            boot: read(BOOT_ID)?
                .map(|bytes| id(BOOT_ID, &bytes))
                .transpose()?,
            host: match read(MACHINE_ID)? {
                Some(bytes) => machine_id(&bytes)?,
                None => None,
            }
            .unwrap_or_else(host_name),
            namespaces: namespaces()?,
            root,
        })
    }

    /// The digest that stands in events; none of the parts can be read from it.
    pub fn digest(&self) -> Digest {
        // A structure of texts always serialises.
        hash::scope(&serde_json::to_vec(self).unwrap_or_default())
    }

    /// The session's root: an absolute, canonical path.
    pub fn root(&self) -> &Path {
        Path::new(&self.root)
    }

    /// The scope in one line, for a person on this machine.
    pub fn describe(&self) -> String {
        let short = |text: &str| text.chars().take(8).collect::<String>();
        let boot = self.boot.as_deref().map_or("unknown".to_owned(), short);
        let namespaces: Vec<String> = self.namespaces.values().cloned().collect();
        format!(
            "root {}, host {}, boot {boot}, namespaces {}",
            self.root,
            short(&self.host),
            if namespaces.is_empty() {
                "unknown".to_owned()
            } else {
                namespaces.join(" ")
            }
        )
    }
}

fn read(path: &str) -> Result<Option<Vec<u8>>, FileError> {
    files::read_if_present(Path::new(path), ID_BYTES_MAX)
}

/// The machine id; `None` where there is none yet.
fn machine_id(bytes: &[u8]) -> Result<Option<String>, ScopeError> {
    match bytes.trim_ascii() {
        none if none.is_empty() || none == NO_MACHINE_ID.as_bytes() => Ok(None),
        bytes => id(MACHINE_ID, bytes).map(Some),
    }
}

/// The id in a one-line file: 32 hexadecimal digits, with or without hyphens between them.
fn id(path: &str, bytes: &[u8]) -> Result<String, ScopeError> {
    let text = String::from_utf8_lossy(bytes.trim_ascii());
    let digits = text.chars().filter(|it| it.is_ascii_hexdigit()).count();
    let others = text
        .chars()
        .filter(|it| !it.is_ascii_hexdigit() && *it != '-');
    if digits == ID_DIGITS && others.count() == 0 {
        return Ok(text.into_owned());
    }
    Err(ScopeError::Garbled {
        path: path.into(),
        expected: format!("{ID_DIGITS} hexadecimal digits"),
        found: text.into_owned(),
    })
}

fn host_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

/// The namespaces of this process that the system tells.
fn namespaces() -> Result<BTreeMap<&'static str, String>, ScopeError> {
    let mut told = BTreeMap::new();
    for name in NAMESPACES {
        let path = PathBuf::from(format!("/proc/self/ns/{name}"));
        match path.read_link() {
            Ok(target) => {
                let target = target.as_os_str().to_string_lossy();
                told.insert(name, namespace(name, &target, &path)?);
            }
            Err(error) if files::says_absent(&error) => {}
            Err(error) => return Err(FileError::io("read the link", &path)(error).into()),
        }
    }
    Ok(told)
}

/// What the link says of a namespace, as `net:[4026531840]`.
fn namespace(name: &str, target: &str, path: &Path) -> Result<String, ScopeError> {
    let number = target
        .strip_prefix(name)
        .and_then(|rest| rest.strip_prefix(":[")?.strip_suffix(']'))
        .filter(|number| !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit()));
    match number {
        Some(_) => Ok(target.to_owned()),
        None => Err(ScopeError::Garbled {
            path: path.to_owned(),
            expected: format!("{name}:[NUMBER]"),
            found: target.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope() -> Scope {
        Scope {
            boot: Some("b".into()),
            host: "h".into(),
            namespaces: BTreeMap::from([("net", "net:[1]".into()), ("ipc", "ipc:[2]".into())]),
            root: "/r \"\u{e4}\"".into(),
        }
    }

    #[test]
    fn the_digest_is_of_canonical_json() {
        let canonical = "{\"boot\":\"b\",\"host\":\"h\",\"namespaces\":\
                         {\"ipc\":\"ipc:[2]\",\"net\":\"net:[1]\"},\"root\":\"/r \\\"\u{e4}\\\"\"}";
        assert_eq!(scope().digest(), hash::scope(canonical.as_bytes()));
        let unknown = Scope {
            boot: None,
            namespaces: BTreeMap::new(),
            ..scope()
        };
        let canonical = "{\"host\":\"h\",\"namespaces\":{},\"root\":\"/r \\\"\u{e4}\\\"\"}";
        assert_eq!(unknown.digest(), hash::scope(canonical.as_bytes()));
    }

    #[test]
    fn a_part_is_what_the_system_writes_or_it_is_told() {
        let digits = "0123456789abcdef0123456789ABCDEF";
        let hyphens = "01234567-89ab-cdef-0123-456789abcdef";
        for whole in [digits, hyphens] {
            let line = format!("{whole}\n");
            assert_eq!(machine_id(line.as_bytes()).unwrap().unwrap(), whole);
            assert_eq!(id(BOOT_ID, line.as_bytes()).unwrap(), whole);
        }
        for none in ["", "\n", "uninitialized\n"] {
            assert_eq!(machine_id(none.as_bytes()).unwrap(), None);
            assert!(id(BOOT_ID, none.as_bytes()).is_err());
        }
        let longer = format!("{digits}0");
        for garbled in [
            &digits[..31],
            &longer,
            "host",
            "\0",
            &digits.replace('0', "g"),
        ] {
            let refused = machine_id(garbled.as_bytes()).unwrap_err();
            assert!(matches!(refused, ScopeError::Garbled { .. }), "{garbled:?}");
            assert!(refused.next().contains(MACHINE_ID));
        }
        let path = Path::new("/proc/self/ns/net");
        assert_eq!(namespace("net", "net:[12]", path).unwrap(), "net:[12]");
        for garbled in ["", "net", "net:[]", "net:[1", "net:[x]", "mnt:[12]"] {
            assert!(namespace("net", garbled, path).is_err(), "{garbled:?}");
        }
    }

    #[test]
    fn every_part_makes_another_scope() {
        let other = |change: fn(&mut Scope)| {
            let mut changed = scope();
            change(&mut changed);
            assert_ne!(changed.digest(), scope().digest());
        };
        other(|scope| scope.boot = Some("c".into()));
        other(|scope| scope.host = "i".into());
        other(|scope| scope.root = "/s".into());
        other(|scope| _ = scope.namespaces.insert("net", "net:[3]".into()));
        other(|scope| _ = scope.namespaces.remove("net"));
    }

    #[test]
    fn a_process_has_one_scope_per_root() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::fs::create_dir(folder.path().join("real")).unwrap();
        std::os::unix::fs::symlink("real", &link).unwrap();
        let through_link = Scope::of_process(&link).unwrap();
        let real = Scope::of_process(&folder.path().join("real")).unwrap();
        assert_eq!(through_link, real);
        assert_ne!(
            real.digest(),
            Scope::of_process(folder.path()).unwrap().digest()
        );
        assert!(real.describe().contains("real"));
        assert!(Scope::of_process(&folder.path().join("absent")).is_err());
    }
}
