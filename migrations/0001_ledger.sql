-- The ledger file, version 1. Opening compares these statements with the file's, text for text, so
-- a released migration never changes; a later one never rewrites a record.

-- seq counts from 0 without a gap; record is the signature and the event bytes, as they were signed.
CREATE TABLE event (
    seq    INTEGER PRIMARY KEY,
    record BLOB NOT NULL CHECK (length(record) BETWEEN 1 AND 65535)
) STRICT;

-- The output that receipts commit to: erasable, and no part of the chain. bytes is null where only
-- the salt is kept. One b-tree, so that there is no index to disagree with its table.
CREATE TABLE capture (
    commitment BLOB NOT NULL PRIMARY KEY CHECK (length(commitment) = 32),
    salt       BLOB NOT NULL CHECK (length(salt) = 16),
    bytes      BLOB CHECK (length(bytes) <= 65536)
) STRICT, WITHOUT ROWID;

-- The triggers stop mistakes. They do not stop attackers, who can drop them: verification does.
CREATE TRIGGER event_only_next BEFORE INSERT ON event
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq) + 1, 0) FROM event)
BEGIN SELECT RAISE(ABORT, 'not the next event'); END;

CREATE TRIGGER event_no_update BEFORE UPDATE ON event
BEGIN SELECT RAISE(ABORT, 'an event is never changed'); END;

-- With recursive_triggers on, this one also stops INSERT OR REPLACE.
CREATE TRIGGER event_no_delete BEFORE DELETE ON event
BEGIN SELECT RAISE(ABORT, 'an event is never deleted'); END;

CREATE TRIGGER capture_no_update BEFORE UPDATE ON capture
BEGIN SELECT RAISE(ABORT, 'a capture is erased or left alone'); END;

CREATE TRIGGER capture_only_once BEFORE INSERT ON capture
WHEN EXISTS (SELECT 1 FROM capture WHERE commitment = NEW.commitment)
BEGIN SELECT RAISE(ABORT, 'a capture is written once'); END;
