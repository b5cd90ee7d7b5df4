-- Whether the queue of a conversation is paused, which of its messages were there before the agent's last
-- question, and which notices were given.

ALTER TABLE conversation ADD COLUMN
  queue_paused INTEGER NOT NULL DEFAULT 0 CHECK (queue_paused IN (0, 1));

ALTER TABLE message ADD COLUMN
  before_question INTEGER NOT NULL DEFAULT 0 CHECK (before_question IN (0, 1));

CREATE TABLE notice(
  key TEXT PRIMARY KEY NOT NULL,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX notice_at ON notice(at);
