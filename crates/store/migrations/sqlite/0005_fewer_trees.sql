ALTER TABLE plan ADD COLUMN last_entry INTEGER;

ALTER TABLE journal RENAME TO old_journal;

CREATE TABLE journal(
  seq INTEGER PRIMARY KEY,
  plan INTEGER NOT NULL REFERENCES plan,
  revision INTEGER NOT NULL,
  at INTEGER NOT NULL,
  actor_kind TEXT NOT NULL,
  actor TEXT NOT NULL,
  kind TEXT NOT NULL,
  undoes INTEGER,
  events TEXT NOT NULL,
  before INTEGER
) STRICT;

INSERT INTO journal(seq, plan, revision, at, actor_kind, actor, kind, undoes, events, before)
SELECT seq, plan, revision, at, actor_kind, actor, kind, undoes, events,
  (SELECT seq FROM old_journal b WHERE b.plan = j.plan AND b.revision < j.revision
    ORDER BY b.revision DESC LIMIT 1)
FROM old_journal j ORDER BY seq;

UPDATE plan SET last_entry = (SELECT seq FROM old_journal b WHERE b.plan = plan.key
  ORDER BY b.revision DESC LIMIT 1);

DROP TABLE old_journal;

CREATE INDEX journal_mark ON journal(plan, revision) WHERE revision % 16 = 0;

DROP INDEX item_position;
CREATE INDEX item_position ON item(plan, position) WHERE position <> number;

ALTER TABLE item ADD COLUMN numbered INTEGER;
DROP INDEX item_id;
CREATE INDEX item_id ON item(plan, id) WHERE numbered IS NULL;
