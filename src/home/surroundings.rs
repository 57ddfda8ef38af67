//! What a file system and a folder are like: facts for the doctor, and nothing is changed.

use super::files::FileError;
use super::paths::user;
use rustix::fs::StatVfsMountFlags;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Whose bits of a mode let others write.
const OTHERS_WRITE: u32 = 0o022;
/// The user whom no other can be kept from: what is its own is as good as one's own.
const SUPERUSER: u32 = 0;
/// Of a folder: only a file's owner renames or removes it.
const STICKY: u32 = 0o1000;

/// A file system as far as a ledger on it is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSystem {
    /// A kind that other machines may have mounted too, by name: locks and syncs may not hold.
    pub network: Option<&'static str>,
    /// Whether it is mounted for reading alone.
    pub read_only: bool,
    /// Bytes that this user may still write.
    pub free_bytes: u64,
}

impl FileSystem {
    /// That which holds `path`.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn of(path: &Path) -> Result<FileSystem, FileError> {
        let failed = || FileError::io("examine the file system of", path);
        let told = rustix::fs::statvfs(path).map_err(|errno| failed()(errno.into()))?;
        Ok(FileSystem {
            network: network(path).map_err(failed())?,
            read_only: told.f_flag.contains(StatVfsMountFlags::RDONLY),
            free_bytes: told.f_bavail.saturating_mul(told.f_frsize),
        })
    }
}

/// Kinds of file systems whose locks are another machine's word, by the number that statfs(2)
/// calls them by.
#[cfg(target_os = "linux")]
const NETWORK: [(u32, &str); 12] = [
    (0x6969, "nfs"),
    (0x517b, "smb"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x6573_5546, "fuse"),
    (0x0102_1997, "9p"),
    (0x5346_414f, "afs"),
    (0x6b41_4653, "afs"),
    (0x00c3_6400, "ceph"),
    (0x7375_7245, "coda"),
    (0x0bd0_0bd0, "lustre"),
    (0x786f_4256, "vboxsf"),
];

#[cfg(target_os = "linux")]
fn network(path: &Path) -> io::Result<Option<&'static str>> {
    let told = rustix::fs::statfs(path)?;
    Ok(network_name(told.f_type.into()))
}

/// The name of a kind: the low 32 bits of `f_type`, which is of another width and sign on each
/// machine. Where it is signed and no wider, a kind with its top bit set is negative.
#[cfg(target_os = "linux")]
fn network_name(told: i128) -> Option<&'static str> {
    let kind = u32::try_from(told.rem_euclid(1 << u32::BITS)).ok()?;
    let found = NETWORK.iter().find(|(number, _)| *number == kind);
    found.map(|(_, name)| *name)
}

#[cfg(not(target_os = "linux"))]
fn network(_: &Path) -> io::Result<Option<&'static str>> {
    Ok(None)
}

/// Who else can change what stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Custody {
    /// Its permission bits.
    pub mode: u32,
    /// Its owner's user id.
    pub owner: u32,
    /// How many names it has (hard links); of a folder, nothing.
    pub names: u64,
    /// Whether others than its owner may write to it, or, if it is a folder, replace files in it.
    pub others_write: bool,
}

impl Custody {
    /// That of what `path` leads to.
    ///
    /// # Errors
    /// When it cannot be looked at.
    pub fn of(path: &Path) -> Result<Custody, FileError> {
        let found = path.metadata().map_err(FileError::io("examine", path))?;
        Ok(Custody::of_found(&found))
    }

    /// That of a file or folder that was looked at.
    pub(super) fn of_found(found: &Metadata) -> Custody {
        let mode = found.mode() & 0o7777;
        let sticky = found.is_dir() && mode & STICKY != 0;
        Custody {
            mode,
            owner: found.uid(),
            names: if found.is_dir() { 1 } else { found.nlink() },
            others_write: mode & OTHERS_WRITE != 0 && !sticky,
        }
    }

    /// Whether what it says is this user's own word: nobody else could have written it.
    pub fn is_own_word(&self) -> bool {
        (self.is_own() || self.owner == SUPERUSER) && self.mode & OTHERS_WRITE == 0
    }

    /// Whether it belongs to this process's user.
    pub fn is_own(&self) -> bool {
        self.owner == user()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_network_mount_is_told_by_its_number() {
        for (number, name) in NETWORK {
            // As it widens from 64 bits, and from 32, signed and not.
            let signed = i32::from_ne_bytes(number.to_ne_bytes());
            for told in [number.into(), signed.into(), u64::from(number).into()] {
                assert_eq!(network_name(told), Some(name), "{told:x}");
            }
        }
        assert_eq!(network_name(i32::MIN.into()), None);
        for local in [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630] {
            assert_eq!(network_name(local), None, "{local:x}");
        }
    }

    #[test]
    fn who_can_write_is_told_by_the_mode() {
        let folder = tempfile::tempdir().unwrap();
        for (mode, others) in [
            (0o700, false),
            (0o755, false),
            (0o775, true),
            (0o1777, false),
        ] {
            std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            let custody = Custody::of(folder.path()).unwrap();
            assert_eq!((custody.mode, custody.others_write), (mode, others));
            assert!(custody.is_own());
        }
        assert!(FileSystem::of(folder.path()).unwrap().free_bytes > 0);
        assert!(
            Custody::of(&folder.path().join("none"))
                .unwrap_err()
                .is_absent()
        );
    }
}
