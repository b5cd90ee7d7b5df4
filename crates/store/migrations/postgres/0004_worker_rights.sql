-- What a worker may write, more exactly. Whoever has the password of a worker need not use the program, so
-- everything that keeps it from making another machine run a command is decided here.

-- A worker is a role that may write items but not answer questions. That holds for the members of a role
-- that was made a worker as well, so no list of names is needed.
CREATE OR REPLACE FUNCTION punchlist.is_worker() RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT NOT has_table_privilege(session_user, 'punchlist.question', 'UPDATE')
$$;

-- An answer is written when a question is answered, never with the question. Of a run, only its end changes.
DO $$
DECLARE
  name text;
BEGIN
  FOR name IN SELECT w.role FROM punchlist.worker_role w JOIN pg_roles r ON r.rolname = w.role LOOP
    EXECUTE format('REVOKE INSERT ON punchlist.question FROM %I', name);
    EXECUTE format('GRANT INSERT(id, run, call, item, asked) ON punchlist.question TO %I', name);
    EXECUTE format('REVOKE UPDATE ON punchlist.run FROM %I', name);
    EXECUTE format('GRANT UPDATE(ended_at) ON punchlist.run TO %I', name);
  END LOOP;
END
$$;

DROP TABLE punchlist.worker_role;

CREATE FUNCTION punchlist.is_shared(plan bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT coalesce((SELECT (p.rules::jsonb ->> 'shared') = 'true' FROM punchlist.plan p WHERE p.key = plan), false)
$$;

CREATE FUNCTION punchlist.refuse_worker(what text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RAISE EXCEPTION 'the role % is a worker and may not %', session_user, what
    USING ERRCODE = 'insufficient_privilege';
END
$$;

-- The triggers below run for workers only; their conditions are written out because a call of a function of
-- ours for each row would cost everybody time.

CREATE FUNCTION punchlist.check_workers_item() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT punchlist.is_shared(NEW.plan) THEN
    PERFORM punchlist.refuse_worker('change plans that are not shared');
  END IF;
  IF EXISTS (
    SELECT jsonb_path_query(NEW.extra::jsonb, '$.evidence[*] ? (@.level == "approved")')
    EXCEPT
    SELECT jsonb_path_query(CASE WHEN TG_OP = 'UPDATE' THEN OLD.extra::jsonb END,
      '$.evidence[*] ? (@.level == "approved")')
  ) THEN
    PERFORM punchlist.refuse_worker('approve');
  END IF;
  IF TG_OP = 'INSERT' THEN
    RETURN NEW;
  END IF;
  IF (NEW.plan, NEW.number, NEW.id, NEW.created_at)
    IS DISTINCT FROM (OLD.plan, OLD.number, OLD.id, OLD.created_at) THEN
    PERFORM punchlist.refuse_worker('exchange items');
  END IF;
  -- When a command runs, how often and how long belongs to the command.
  IF (NEW.depends_on, NEW.priority, NEW.parent, NEW.extra::jsonb -> 'retry', NEW.extra::jsonb -> 'timeout')
    IS DISTINCT FROM
    (OLD.depends_on, OLD.priority, OLD.parent, OLD.extra::jsonb -> 'retry', OLD.extra::jsonb -> 'timeout')
    AND (OLD.agent_type IS NOT NULL OR OLD.extra::jsonb -> 'run' IS NOT NULL
      OR OLD.extra::jsonb -> 'check' IS NOT NULL) THEN
    PERFORM punchlist.refuse_worker('change when or how often a command runs');
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER check_workers_item BEFORE INSERT OR UPDATE ON punchlist.item
  FOR EACH ROW WHEN (NOT has_table_privilege(session_user, 'punchlist.question', 'UPDATE'))
  EXECUTE FUNCTION punchlist.check_workers_item();

CREATE FUNCTION punchlist.check_workers_plan() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF (OLD.rules::jsonb ->> 'shared') IS DISTINCT FROM 'true' THEN
    PERFORM punchlist.refuse_worker('change plans that are not shared');
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER check_workers_plan BEFORE UPDATE ON punchlist.plan
  FOR EACH ROW WHEN (NOT has_table_privilege(session_user, 'punchlist.question', 'UPDATE'))
  EXECUTE FUNCTION punchlist.check_workers_plan();

CREATE FUNCTION punchlist.check_workers_entry() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NEW.plan IS NOT NULL AND NOT punchlist.is_shared(NEW.plan) THEN
    PERFORM punchlist.refuse_worker('change plans that are not shared');
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER check_workers_entry BEFORE INSERT ON punchlist.journal
  FOR EACH ROW WHEN (NOT has_table_privilege(session_user, 'punchlist.question', 'UPDATE'))
  EXECUTE FUNCTION punchlist.check_workers_entry();

CREATE TRIGGER check_workers_entry BEFORE INSERT ON punchlist.run
  FOR EACH ROW WHEN (NOT has_table_privilege(session_user, 'punchlist.question', 'UPDATE'))
  EXECUTE FUNCTION punchlist.check_workers_entry();

-- A call that has ended stays so, and stays with its item: an answer that was given for it counts once.
CREATE FUNCTION punchlist.check_workers_call() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  last record;
BEGIN
  SELECT c.state, c.item INTO last FROM punchlist.call c
    WHERE c.run = NEW.run AND c.number = NEW.number ORDER BY c.seq DESC LIMIT 1;
  IF FOUND AND (last.state IN ('success', 'error', 'cancelled') OR last.item IS DISTINCT FROM NEW.item
    OR (NEW.state = 'awaiting_approval' AND last.state <> 'scheduled')) THEN
    PERFORM punchlist.refuse_worker('change calls that have ended');
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER check_workers_call BEFORE INSERT ON punchlist.call
  FOR EACH ROW WHEN (NOT has_table_privilege(session_user, 'punchlist.question', 'UPDATE'))
  EXECUTE FUNCTION punchlist.check_workers_call();

-- The role that recorded a directory. Only the trigger below sets it.
ALTER TABLE punchlist.checkout ADD COLUMN role text COLLATE "C";

CREATE FUNCTION punchlist.check_checkout() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  others CONSTANT text := 'change directories that another role recorded';
BEGIN
  IF TG_OP <> 'INSERT' AND OLD.role IS DISTINCT FROM session_user::text AND punchlist.is_worker() THEN
    PERFORM punchlist.refuse_worker(others);
  END IF;
  IF TG_OP = 'DELETE' THEN
    RETURN OLD;
  END IF;
  IF punchlist.is_worker() AND EXISTS (
    SELECT 1 FROM punchlist.checkout c WHERE c.host = NEW.host AND c.directory = NEW.directory
      AND c.role IS DISTINCT FROM session_user::text) THEN
    PERFORM punchlist.refuse_worker(others);
  END IF;
  NEW.role := session_user;
  RETURN NEW;
END
$$;

CREATE TRIGGER check_checkout BEFORE INSERT OR UPDATE OR DELETE ON punchlist.checkout
  FOR EACH ROW EXECUTE FUNCTION punchlist.check_checkout();
