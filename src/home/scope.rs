//! The scope of a session: on which host, since which boot, in which namespaces, under which root.
//!
//! What an observation says holds within its scope. Two containers on one host differ in their
//! namespaces, a restart in the boot id, two worktrees in the root.

use crate::hash;
use crate::types::Digest;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The namespaces that make a difference to a probe (namespaces(7)).
const NAMESPACES: [&str; 6] = ["ipc", "mnt", "net", "pid", "user", "uts"];

/// Why the scope could not be told.
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
    /// boot id and the namespaces are left out where the system does not tell them.
    ///
    /// # Errors
    ///
    /// When `root` has no canonical path, or one that is not UTF-8.
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
            boot: line_of("/proc/sys/kernel/random/boot_id"),
            host: line_of("/etc/machine-id").unwrap_or_else(host_name),
            namespaces: NAMESPACES
                .into_iter()
                .filter_map(|name| Some((name, namespace(name)?)))
                .collect(),
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

/// The text of a one-line system file, if there is one with something in it.
fn line_of(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

fn host_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

/// What the link says of this process' namespace, as `net:[4026531840]`.
fn namespace(name: &str) -> Option<String> {
    let target = std::fs::read_link(format!("/proc/self/ns/{name}")).ok()?;
    target.into_os_string().into_string().ok()
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
