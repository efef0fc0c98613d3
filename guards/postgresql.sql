-- Fencing for PostgreSQL 13 or later: refuses what a replaced lock holder writes late.
--
--   psql -f postgresql.sql                                     once in each database
--   SELECT holdfast.protect('accounts', 'nightly-accounts');   once for each table
--
-- A writer names its fencing token, then writes in the same transaction:
--
--   BEGIN;
--   SELECT holdfast.admit('nightly-accounts', '42:nightly:local/9f0c...');
--   UPDATE accounts SET ...;
--   COMMIT;
--
-- or names it once for a connection, and every protected statement admits it:
--
--   SET holdfast.token = '42:nightly:local/9f0c...';
--
-- SQLSTATE: ZH077 stale token, ZH064 a token that is missing, malformed, or of another lock.

BEGIN;

CREATE SCHEMA holdfast;

-- One row for each resource: whose tokens it compares, and the newest one it has seen.
CREATE TABLE holdfast.floor (
  resource text PRIMARY KEY,
  source   text NOT NULL,
  floor    bigint NOT NULL CHECK (floor BETWEEN 1 AND 9007199254740991),
  -- The transaction that was admitted last; while it lasts it holds the row's lock.
  admitted xid8,
  -- Its beginning: a restored copy gives the same number to another transaction.
  admitted_at timestamptz
);

-- The number of a fencing token of the form VALUE:LOCK:STORE.
CREATE FUNCTION holdfast.value_of(token text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  value bigint;
BEGIN
  IF token ~ '^[1-9][0-9]{0,15}:[!-~]+:[!-~]+$' THEN
    value := split_part(token, ':', 1)::bigint;
  END IF;
  IF value IS NULL OR value > 9007199254740991 THEN
    RAISE EXCEPTION 'holdfast: % is no fencing token', coalesce(quote_literal(token), 'nothing')
      USING ERRCODE = 'ZH064',
            DETAIL = 'The form is VALUE:LOCK:STORE, with VALUE from 1 to 2^53 - 1.',
            HINT = 'Pass HOLDFAST_FENCING_TOKEN as it is.';
  END IF;
  RETURN value;
END $$;

CREATE FUNCTION holdfast.source_of(token text) RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp AS $$
  SELECT substr(token, strpos(token, ':') + 1)
$$;

-- Raises why a token cannot pass the resource's row as it is.
CREATE FUNCTION holdfast.refuse(of_resource text, token text) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  row holdfast.floor%ROWTYPE;
BEGIN
  SELECT * INTO row FROM holdfast.floor f WHERE f.resource = of_resource FOR UPDATE;
  IF row.source IS DISTINCT FROM holdfast.source_of(token) THEN
    RAISE EXCEPTION 'holdfast: the token % is of another lock or store than % is bound to',
        quote_literal(token), quote_literal(of_resource)
      USING ERRCODE = 'ZH064', DETAIL = format('It is bound to %s.', row.source),
            HINT = 'Take that lock. Tokens of different locks or stores cannot be compared.';
  END IF;
  RAISE EXCEPTION 'holdfast: stale token % for %: token % was seen',
      holdfast.value_of(token), quote_literal(of_resource), row.floor
    USING ERRCODE = 'ZH077',
          DETAIL = 'Another holder was granted the lock since; this writer was replaced.',
          HINT = 'Stop. Acquire the lock again before writing anything.';
END $$;

-- Lets this transaction write to the resource, unless a newer token was seen. The first token binds
-- the resource to its lock. The row's lock is held to the end of the transaction, so that a newer
-- token waits until what an older one writes is committed or rolled back.
CREATE FUNCTION holdfast.admit(of_resource text, token text) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO holdfast.floor AS f
    VALUES (of_resource, holdfast.source_of(token), holdfast.value_of(token),
            pg_current_xact_id(), transaction_timestamp())
    ON CONFLICT (resource) DO UPDATE
      SET floor = excluded.floor, admitted = excluded.admitted,
          admitted_at = excluded.admitted_at
      WHERE f.source = excluded.source AND f.floor <= excluded.floor;
  IF NOT FOUND THEN
    PERFORM holdfast.refuse(of_resource, token);
  END IF;
END $$;

-- Refuses every token below this one from now on. Never lowers the floor; returns it.
CREATE FUNCTION holdfast.raise_floor(of_resource text, token text) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  now_at bigint;
BEGIN
  INSERT INTO holdfast.floor AS f
    VALUES (of_resource, holdfast.source_of(token), holdfast.value_of(token))
    ON CONFLICT (resource) DO UPDATE SET floor = greatest(f.floor, excluded.floor)
      WHERE f.source = excluded.source
    RETURNING f.floor INTO now_at;
  IF now_at IS NULL THEN
    PERFORM holdfast.refuse(of_resource, token);
  END IF;
  RETURN now_at;
END $$;

-- The trigger: passes in a transaction that was admitted, else admits holdfast.token.
CREATE FUNCTION holdfast.require_token() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM holdfast.floor f WHERE f.resource = TG_ARGV[0]
                 AND f.admitted = pg_current_xact_id_if_assigned()
                 AND f.admitted_at = transaction_timestamp()) THEN
    PERFORM holdfast.admit(TG_ARGV[0], nullif(current_setting('holdfast.token', true), ''));
  END IF;
  RETURN NULL;
END $$;

-- From now on only admitted transactions write to the table. Several tables may share a resource.
-- It runs with the caller's rights, who has to own the table or have its right TRIGGER, and, where
-- the guard is another's, to be given EXECUTE on this function and on require_token.
CREATE FUNCTION holdfast.protect(guarded regclass, resource text) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  EXECUTE format('CREATE TRIGGER holdfast_fence BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE '
                 'ON %s FOR EACH STATEMENT EXECUTE FUNCTION holdfast.require_token(%L)',
                 guarded, resource);
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA holdfast FROM PUBLIC;
GRANT USAGE ON SCHEMA holdfast TO PUBLIC;
-- No function: whoever may call admit, or set up a trigger of his own with require_token, can put
-- the floor above every token, and so stop all writers. A trigger runs without that right.

COMMIT;
