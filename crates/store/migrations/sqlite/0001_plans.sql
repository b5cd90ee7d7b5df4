CREATE TABLE plan(
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  project TEXT NOT NULL,
  name TEXT,
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

CREATE TABLE item(
  plan INTEGER NOT NULL REFERENCES plan,
  number INTEGER NOT NULL,
  id TEXT NOT NULL,
  position INTEGER,
  status TEXT NOT NULL,
  priority INTEGER,
  unmet INTEGER NOT NULL,
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
CREATE INDEX item_running ON item(plan)
  WHERE status = 'in_progress' AND superseded_at IS NULL;
CREATE INDEX item_ready ON item(plan, ifnull(priority, 4294967295), position)
  WHERE status = 'pending' AND unmet = 0 AND waiting_on IS NULL AND position IS NOT NULL;

CREATE TABLE dependency(
  plan INTEGER NOT NULL REFERENCES plan,
  on_item INTEGER NOT NULL,
  item INTEGER NOT NULL,
  PRIMARY KEY(plan, on_item, item)
) STRICT, WITHOUT ROWID;

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
  UNIQUE(plan, revision)
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

CREATE VIEW turn_todos AS SELECT
  id,
  ifnull((SELECT conversation FROM attachment a WHERE a.plan = i.plan
    ORDER BY turn = '', at DESC LIMIT 1), '') AS conversationId,
  ifnull((SELECT turn FROM attachment a WHERE a.plan = i.plan
    ORDER BY turn = '', at DESC LIMIT 1), '') AS turnId,
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
FROM item i WHERE superseded_at IS NULL;
