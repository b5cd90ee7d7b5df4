-- The whole schema. Times are milliseconds since 1970, JSON is text, and texts are compared by their bytes.

CREATE SCHEMA IF NOT EXISTS punchlist;

CREATE TABLE punchlist.schema_version(
  version bigint NOT NULL
);

CREATE TABLE punchlist.plan(
  key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  project text COLLATE "C" NOT NULL,
  name text COLLATE "C",
  -- What the plan was made for, at most one of these: the project itself, a plan file, or a conversation
  -- (the columns of `attachment` as a JSON array).
  is_own boolean NOT NULL DEFAULT false,
  plan_file text COLLATE "C" UNIQUE,
  conversation_key text COLLATE "C" UNIQUE,
  title text NOT NULL,
  revision bigint NOT NULL,
  rules text,
  goal text,
  "end" text NOT NULL,
  next_number bigint NOT NULL,
  placed bigint NOT NULL,
  open bigint NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  UNIQUE(project, name)
)
-- Every change updates this row. With room on its page the new version needs no new index entries.
WITH (fillfactor = 70);

CREATE UNIQUE INDEX plan_own ON punchlist.plan(project) WHERE is_own;

CREATE TABLE punchlist.item(
  plan bigint NOT NULL REFERENCES punchlist.plan,
  number bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  position bigint,
  status text COLLATE "C" NOT NULL
    CHECK (status IN ('pending', 'in_progress', 'completed', 'cancelled')),
  priority bigint,
  -- How many things keep the item from being ready: dependencies that are not completed, and open items
  -- under it. Derived; the index `item_ready` needs it.
  unmet bigint NOT NULL DEFAULT 0,
  -- Whether it is on a worker's own list, which the plan's progress does not count. Derived from `extra`.
  is_workers boolean NOT NULL,
  parent bigint,
  attempt bigint NOT NULL,
  created_at bigint NOT NULL,
  started_at bigint,
  completed_at bigint,
  superseded_at bigint,
  depends_on text,
  waiting_on text,
  claim text,
  title text NOT NULL,
  active_form text,
  agent_type text,
  owner text,
  outcome text,
  context text NOT NULL,
  completion_criteria text NOT NULL,
  extra text,
  PRIMARY KEY(plan, number)
);

CREATE INDEX item_id ON punchlist.item(plan, id);
CREATE INDEX item_position ON punchlist.item(plan, position) WHERE position IS NOT NULL;
CREATE INDEX item_parent ON punchlist.item(plan, parent) WHERE parent IS NOT NULL;
CREATE INDEX item_in_progress ON punchlist.item(plan)
  WHERE status = 'in_progress' AND superseded_at IS NULL;
CREATE INDEX item_ready ON punchlist.item(plan, coalesce(priority, 4294967295), position)
  WHERE status = 'pending' AND unmet = 0 AND waiting_on IS NULL AND position IS NOT NULL;

CREATE TABLE punchlist.dependency(
  plan bigint NOT NULL REFERENCES punchlist.plan,
  item bigint NOT NULL,
  on_item bigint NOT NULL,
  PRIMARY KEY(plan, item, on_item)
);

CREATE INDEX dependency_on ON punchlist.dependency(plan, on_item, item);

CREATE TABLE punchlist.journal(
  -- Counts over all plans. Within a plan it is in the order of the revisions; between plans, entries may
  -- become visible in another order, so a follower also looks at `xid`.
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- The transaction that wrote the entry.
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  plan bigint NOT NULL REFERENCES punchlist.plan,
  revision bigint NOT NULL,
  -- Nothing for entries that were imported.
  write_id text COLLATE "C",
  at bigint NOT NULL,
  actor_kind text NOT NULL,
  actor text NOT NULL,
  kind text NOT NULL,
  undoes bigint,
  events text NOT NULL,
  UNIQUE(plan, revision),
  UNIQUE(plan, write_id)
);

CREATE INDEX journal_xid ON punchlist.journal(xid);

-- The ids of writes that are not in the journal, for a day: so a write whose connection was lost is
-- repeated only if it did not happen.
CREATE TABLE punchlist.recent_write(
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  at bigint NOT NULL
);

CREATE INDEX recent_write_at ON punchlist.recent_write(at);

CREATE TABLE punchlist.attachment(
  project text COLLATE "C" NOT NULL,
  agent text COLLATE "C" NOT NULL,
  conversation text COLLATE "C" NOT NULL,
  sub_agent text COLLATE "C" NOT NULL,
  turn text COLLATE "C" NOT NULL,
  plan bigint NOT NULL REFERENCES punchlist.plan,
  shown bigint NOT NULL,
  at bigint NOT NULL,
  PRIMARY KEY(project, agent, conversation, sub_agent, turn)
);

CREATE INDEX attachment_plan ON punchlist.attachment(plan, at);

CREATE TABLE punchlist.session(
  agent text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  project text COLLATE "C" NOT NULL,
  directory text NOT NULL,
  process text COLLATE "C",
  interactive boolean,
  begun_at bigint NOT NULL,
  seen_at bigint NOT NULL,
  ended_at bigint,
  memory text NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY(agent, id)
);

CREATE INDEX session_process ON punchlist.session(process, seen_at) WHERE process IS NOT NULL;
CREATE INDEX session_project ON punchlist.session(project, seen_at);

CREATE TABLE punchlist.run(
  key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  project text COLLATE "C" NOT NULL,
  plan bigint REFERENCES punchlist.plan,
  what text NOT NULL,
  process text,
  begun_at bigint NOT NULL,
  ended_at bigint
);

CREATE INDEX run_plan ON punchlist.run(plan) WHERE plan IS NOT NULL;

CREATE TABLE punchlist.call(
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  run bigint NOT NULL REFERENCES punchlist.run,
  number bigint NOT NULL,
  item bigint,
  tool text NOT NULL,
  state text COLLATE "C" NOT NULL,
  attempt bigint NOT NULL,
  at bigint NOT NULL,
  request text,
  detail text
);

CREATE INDEX call_number ON punchlist.call(run, number, seq);

CREATE TABLE punchlist.question(
  id text COLLATE "C" PRIMARY KEY,
  run bigint NOT NULL REFERENCES punchlist.run,
  call bigint NOT NULL,
  item bigint,
  answer text,
  asked text NOT NULL
);

CREATE INDEX question_run ON punchlist.question(run);

CREATE TABLE punchlist.message(
  id text COLLATE "C" PRIMARY KEY,
  conversation text COLLATE "C" NOT NULL,
  -- The place in the queue. Several messages change places in one statement, so it is checked at the end.
  seq bigint NOT NULL,
  steer boolean NOT NULL,
  at bigint NOT NULL,
  edited_at bigint,
  taken_at bigint,
  before_question boolean NOT NULL DEFAULT false,
  text text NOT NULL,
  UNIQUE(conversation, seq) DEFERRABLE INITIALLY DEFERRED
);

CREATE TABLE punchlist.conversation(
  key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  project text COLLATE "C" NOT NULL,
  directory text NOT NULL,
  title text NOT NULL,
  settings text NOT NULL,
  state text NOT NULL CHECK (state IN ('idle', 'working', 'asked', 'waiting')),
  waiting_on text CHECK ((waiting_on IS NOT NULL) = (state = 'waiting')),
  waiting_until bigint CHECK (waiting_until IS NULL OR state = 'waiting'),
  runner text,
  runner_process text CHECK (runner_process IS NULL OR runner IS NOT NULL),
  runner_until bigint CHECK ((runner_until IS NULL) = (runner IS NULL)),
  stop_asked_at bigint,
  queue_paused boolean NOT NULL DEFAULT false,
  -- Totals of the turns and entries, so that a list of conversations reads only this table.
  turns bigint NOT NULL DEFAULT 0 CHECK (turns >= 0),
  calls bigint NOT NULL DEFAULT 0 CHECK (calls >= 0),
  input bigint NOT NULL DEFAULT 0 CHECK (input >= 0),
  output bigint NOT NULL DEFAULT 0 CHECK (output >= 0),
  cost_micros bigint NOT NULL DEFAULT 0 CHECK (cost_micros >= 0),
  created_at bigint NOT NULL,
  changed_at bigint NOT NULL
);

CREATE INDEX conversation_project ON punchlist.conversation(project, changed_at);

CREATE TABLE punchlist.turn(
  conversation bigint NOT NULL REFERENCES punchlist.conversation,
  number bigint NOT NULL,
  id text NOT NULL,
  plan bigint REFERENCES punchlist.plan,
  began_at bigint NOT NULL,
  ended_at bigint,
  ending text,
  -- Totals of the entries.
  calls bigint NOT NULL DEFAULT 0 CHECK (calls >= 0),
  input bigint NOT NULL DEFAULT 0 CHECK (input >= 0),
  output bigint NOT NULL DEFAULT 0 CHECK (output >= 0),
  cost_micros bigint NOT NULL DEFAULT 0 CHECK (cost_micros >= 0),
  machine text NOT NULL,
  PRIMARY KEY(conversation, number)
);

CREATE TABLE punchlist.turn_entry(
  conversation bigint NOT NULL REFERENCES punchlist.conversation,
  number bigint NOT NULL CHECK (number > 0),
  turn bigint NOT NULL,
  at bigint NOT NULL,
  kind text NOT NULL,
  -- What a model call has used; NULL if the entry is not the answer of one.
  calls bigint CHECK (calls >= 0),
  input bigint CHECK (input >= 0),
  output bigint CHECK (output >= 0),
  cost_micros bigint CHECK (cost_micros >= 0),
  body text NOT NULL,
  PRIMARY KEY(conversation, number),
  FOREIGN KEY(conversation, turn) REFERENCES punchlist.turn(conversation, number)
);

CREATE INDEX turn_entry_turn ON punchlist.turn_entry(conversation, turn, number);
CREATE INDEX turn_entry_used ON punchlist.turn_entry(at) WHERE calls IS NOT NULL;

CREATE TABLE punchlist.notice(
  key text COLLATE "C" PRIMARY KEY,
  at bigint NOT NULL
);

CREATE INDEX notice_at ON punchlist.notice(at);

-- The directory of each project on each machine.
CREATE TABLE punchlist.checkout(
  project text COLLATE "C" NOT NULL,
  host text COLLATE "C" NOT NULL,
  directory text COLLATE "C" NOT NULL,
  seen_at bigint NOT NULL,
  PRIMARY KEY(project, host, directory)
);

-- One row for each item on a list, with the turn that works on it. Of several conversations that are attached
-- to a plan, one with a turn counts before one without, and then the newest.
CREATE VIEW punchlist.turn_todos AS
WITH listed AS (
  SELECT a.conversation AS conversation, a.turn AS turn, i.*
  FROM punchlist.item i LEFT JOIN LATERAL (
    SELECT conversation, turn FROM punchlist.attachment b WHERE b.plan = i.plan
    ORDER BY b.turn = '', b.at DESC, b.project, b.agent, b.conversation, b.sub_agent, b.turn
    LIMIT 1) a ON true
  WHERE i.superseded_at IS NULL
)
SELECT
  id,
  coalesce(conversation, '') AS "conversationId",
  coalesce(turn, '') AS "turnId",
  title,
  context,
  completion_criteria AS "completionCriteria",
  agent_type AS "agentType",
  status,
  coalesce(priority, position - 1) AS priority,
  outcome,
  to_timestamp(created_at / 1000.0) AS "createdAt",
  to_timestamp(started_at / 1000.0) AS "startedAt",
  to_timestamp(completed_at / 1000.0) AS "completedAt"
FROM listed;
