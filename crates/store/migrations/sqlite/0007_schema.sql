-- The whole schema. Versions 1 to 6 were never released.

CREATE TABLE plan(
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  project TEXT NOT NULL,
  name TEXT,
  -- What the plan was made for, at most one of these: the project itself, a plan file (its real path), or a
  -- conversation (the columns of `attachment` as a JSON array).
  is_own INTEGER NOT NULL DEFAULT 0 CHECK (is_own IN (0, 1)),
  plan_file TEXT UNIQUE,
  conversation_key TEXT UNIQUE,
  title TEXT NOT NULL,
  revision INTEGER NOT NULL,
  rules TEXT,
  goal TEXT,
  end TEXT NOT NULL,
  next_number INTEGER NOT NULL,
  placed INTEGER NOT NULL,
  open INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE(project, name)
) STRICT;

CREATE UNIQUE INDEX plan_own ON plan(project) WHERE is_own = 1;

CREATE TABLE item(
  plan INTEGER NOT NULL REFERENCES plan,
  number INTEGER NOT NULL,
  id TEXT NOT NULL,
  position INTEGER,
  status TEXT NOT NULL CHECK (status IN ('pending', 'in_progress', 'completed', 'cancelled')),
  priority INTEGER,
  -- How many things keep the item from being ready: dependencies that are not completed, and open items
  -- under it. Derived; the index `item_ready` needs it.
  unmet INTEGER NOT NULL DEFAULT 0,
  parent INTEGER,
  attempt INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  completed_at INTEGER,
  superseded_at INTEGER,
  depends_on TEXT,
  waiting_on TEXT,
  claim TEXT,
  title TEXT NOT NULL,
  active_form TEXT,
  agent_type TEXT,
  owner TEXT,
  outcome TEXT,
  context TEXT NOT NULL,
  completion_criteria TEXT NOT NULL,
  extra TEXT,
  PRIMARY KEY(plan, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX item_id ON item(plan, id);
CREATE INDEX item_position ON item(plan, position) WHERE position IS NOT NULL;
CREATE INDEX item_parent ON item(plan, parent) WHERE parent IS NOT NULL;
CREATE INDEX item_status ON item(plan, status);
CREATE INDEX item_ready ON item(plan, ifnull(priority, 4294967295), position)
  WHERE status = 'pending' AND unmet = 0 AND waiting_on IS NULL AND position IS NOT NULL;

CREATE TABLE dependency(
  plan INTEGER NOT NULL REFERENCES plan,
  item INTEGER NOT NULL,
  on_item INTEGER NOT NULL,
  PRIMARY KEY(plan, item, on_item)
) STRICT, WITHOUT ROWID;

CREATE INDEX dependency_on ON dependency(plan, on_item, item);

CREATE TABLE journal(
  -- Counts over all plans, in the order of the commits: what followers go by.
  seq INTEGER PRIMARY KEY,
  plan INTEGER NOT NULL REFERENCES plan,
  revision INTEGER NOT NULL,
  -- Nothing for entries that were imported, or written before schema 7.
  write_id TEXT,
  at INTEGER NOT NULL,
  actor_kind TEXT NOT NULL,
  actor TEXT NOT NULL,
  kind TEXT NOT NULL,
  undoes INTEGER,
  events TEXT NOT NULL,
  UNIQUE(plan, revision),
  UNIQUE(plan, write_id)
) STRICT;

CREATE TABLE attachment(
  project TEXT NOT NULL,
  agent TEXT NOT NULL,
  conversation TEXT NOT NULL,
  sub_agent TEXT NOT NULL,
  turn TEXT NOT NULL,
  plan INTEGER NOT NULL REFERENCES plan,
  shown INTEGER NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY(project, agent, conversation, sub_agent, turn)
) STRICT, WITHOUT ROWID;

CREATE INDEX attachment_plan ON attachment(plan, at);
CREATE INDEX attachment_turn ON attachment(turn);
CREATE INDEX attachment_conversation ON attachment(conversation, turn);

CREATE TABLE session(
  agent TEXT NOT NULL,
  id TEXT NOT NULL,
  project TEXT NOT NULL,
  directory TEXT NOT NULL,
  process TEXT,
  interactive INTEGER,
  begun_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  ended_at INTEGER,
  memory TEXT NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY(agent, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX session_process ON session(process, seen_at) WHERE process IS NOT NULL;
CREATE INDEX session_project ON session(project, seen_at);

CREATE TABLE run(
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  project TEXT NOT NULL,
  plan INTEGER REFERENCES plan,
  what TEXT NOT NULL,
  process TEXT,
  begun_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;

CREATE TABLE call(
  seq INTEGER PRIMARY KEY,
  run INTEGER NOT NULL REFERENCES run,
  number INTEGER NOT NULL,
  item INTEGER,
  tool TEXT NOT NULL,
  state TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  at INTEGER NOT NULL,
  request TEXT,
  detail TEXT
) STRICT;

CREATE INDEX call_number ON call(run, number);

CREATE TABLE question(
  run INTEGER NOT NULL REFERENCES run,
  id TEXT NOT NULL,
  call INTEGER NOT NULL,
  item INTEGER,
  answer TEXT,
  asked TEXT NOT NULL,
  PRIMARY KEY(run, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE message(
  conversation TEXT NOT NULL,
  seq INTEGER NOT NULL,
  id TEXT NOT NULL,
  steer INTEGER NOT NULL,
  at INTEGER NOT NULL,
  edited_at INTEGER,
  taken_at INTEGER,
  text TEXT NOT NULL,
  PRIMARY KEY(conversation, seq)
) STRICT, WITHOUT ROWID;

-- One row for each item on a list, with the turn that works on it. Of several conversations that are attached
-- to a plan, one with a turn counts before one without, and then the newest.
CREATE VIEW turn_todos AS
WITH listed AS (
  SELECT a.conversation AS conversation, a.turn AS turn, i.*
  FROM attachment a JOIN item i ON i.plan = a.plan
  WHERE i.superseded_at IS NULL AND NOT EXISTS (
    SELECT 1 FROM attachment b WHERE b.plan = a.plan
    AND (b.turn = '', -b.at, b.project, b.agent, b.conversation, b.sub_agent, b.turn)
      < (a.turn = '', -a.at, a.project, a.agent, a.conversation, a.sub_agent, a.turn))
  UNION ALL
  SELECT '', '', i.* FROM item i
  WHERE i.superseded_at IS NULL AND NOT EXISTS (SELECT 1 FROM attachment b WHERE b.plan = i.plan)
)
SELECT
  id,
  conversation AS conversationId,
  turn AS turnId,
  title,
  context,
  completion_criteria AS completionCriteria,
  agent_type AS agentType,
  status,
  ifnull(priority, position - 1) AS priority,
  outcome,
  strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS createdAt,
  strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch') AS startedAt,
  strftime('%Y-%m-%dT%H:%M:%fZ', completed_at / 1000.0, 'unixepoch') AS completedAt
FROM listed;
