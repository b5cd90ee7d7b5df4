-- Who published each item, and what the roles of workers may not do. Both are decided here and not by
-- the program, because whoever has the password of a role need not use the program.

-- The role that last wrote the item's command. Only the trigger below sets it.
ALTER TABLE punchlist.item ADD COLUMN publisher text COLLATE "C";

-- The roles that `punchlist db grant ROLE --as worker` made workers.
CREATE TABLE punchlist.worker_role(
  role text COLLATE "C" PRIMARY KEY
);

CREATE INDEX plan_shared ON punchlist.plan(project, created_at)
  WHERE open > 0 AND (rules::jsonb ->> 'shared') = 'true';

-- What a worker would do for an item: for an agent, the texts are the command.
CREATE FUNCTION punchlist.item_command(
  agent_type text, title text, context text, criteria text, extra text
) RETURNS jsonb LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT jsonb_build_array(
    extra::jsonb -> 'run',
    extra::jsonb -> 'check',
    extra::jsonb -> 'approve',
    extra::jsonb #> '{metadata,plan_file,below}',
    CASE WHEN agent_type IS NOT NULL
      THEN jsonb_build_array(agent_type, title, context, criteria) END)
$$;

CREATE FUNCTION punchlist.is_worker() RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT EXISTS (SELECT 1 FROM punchlist.worker_role WHERE role = session_user::text)
$$;

CREATE FUNCTION punchlist.check_item() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  nothing CONSTANT jsonb := '[null, null, null, null, null]';
  before jsonb := nothing;
  after jsonb;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    NEW.publisher := OLD.publisher;
    -- Most changes are about other columns.
    IF (NEW.agent_type, NEW.title, NEW.context, NEW.completion_criteria, NEW.extra)
      IS NOT DISTINCT FROM
      (OLD.agent_type, OLD.title, OLD.context, OLD.completion_criteria, OLD.extra) THEN
      RETURN NEW;
    END IF;
    before := punchlist.item_command(
      OLD.agent_type, OLD.title, OLD.context, OLD.completion_criteria, OLD.extra);
  ELSE
    NEW.publisher := session_user;
  END IF;
  after := punchlist.item_command(
    NEW.agent_type, NEW.title, NEW.context, NEW.completion_criteria, NEW.extra);
  IF after IS DISTINCT FROM before THEN
    IF punchlist.is_worker() THEN
      RAISE EXCEPTION 'the role % is a worker and may not write commands', session_user
        USING ERRCODE = 'insufficient_privilege';
    END IF;
    NEW.publisher := session_user;
  END IF;
  IF punchlist.is_worker() AND NEW.extra IS NOT NULL
    AND jsonb_path_exists(NEW.extra::jsonb, '$.evidence[*] ? (@.level == "approved")')
    AND (TG_OP = 'INSERT' OR NEW.extra::jsonb -> 'evidence' IS DISTINCT FROM OLD.extra::jsonb -> 'evidence')
    AND (TG_OP = 'INSERT' OR
      jsonb_array_length(jsonb_path_query_array(NEW.extra::jsonb, '$.evidence[*] ? (@.level == "approved")')) >
      jsonb_array_length(jsonb_path_query_array(coalesce(OLD.extra, '{}')::jsonb, '$.evidence[*] ? (@.level == "approved")')))
  THEN
    RAISE EXCEPTION 'the role % is a worker and may not approve', session_user
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER check_item BEFORE INSERT OR UPDATE ON punchlist.item
  FOR EACH ROW EXECUTE FUNCTION punchlist.check_item();

CREATE FUNCTION punchlist.check_plan() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF (NEW.id, NEW.project, NEW.name, NEW.is_own, NEW.plan_file, NEW.conversation_key, NEW.title,
      NEW.rules, NEW.goal) IS DISTINCT FROM
     (OLD.id, OLD.project, OLD.name, OLD.is_own, OLD.plan_file, OLD.conversation_key, OLD.title,
      OLD.rules, OLD.goal)
    AND punchlist.is_worker() THEN
    RAISE EXCEPTION 'the role % is a worker and may not change plans', session_user
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER check_plan BEFORE UPDATE ON punchlist.plan
  FOR EACH ROW EXECUTE FUNCTION punchlist.check_plan();
