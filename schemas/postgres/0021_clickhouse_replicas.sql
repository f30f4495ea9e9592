-- The ClickHouse servers that hold a copy of the registers. An installation with one server has the row 'default', whose
-- state nobody reads.
CREATE TABLE IF NOT EXISTS clickhouse_replica (
  name text PRIMARY KEY,
  -- serving: the API may ask it. joining: it may not, but notices already wait until it shows a change. stopped: neither.
  state text NOT NULL DEFAULT 'stopped' CHECK (state IN ('stopped', 'joining', 'serving')),
  state_at timestamptz NOT NULL DEFAULT now(),
  -- When it last stopped serving. A process of the API that cannot reach PostgreSQL asks it for a minute longer.
  served_until timestamptz NOT NULL DEFAULT '-infinity',
  -- Why it does not serve, for the operator.
  reason text,
  -- Which store its consumer group feeds (storeFacts in pipelines/replicas/store.ts). Null: no consumers process began yet.
  store text,
  -- When the operator took it out of CLICKHOUSE_REPLICAS.
  removed_at timestamptz
);

-- The highest edition of each register that a replica holds whole.
CREATE TABLE IF NOT EXISTS replica_edition (
  replica text NOT NULL REFERENCES clickhouse_replica (name) ON DELETE CASCADE,
  register text NOT NULL,
  edition bigint NOT NULL,
  held_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (replica, register)
);

INSERT INTO clickhouse_replica (name, state) VALUES ('default', 'serving') ON CONFLICT DO NOTHING;
INSERT INTO replica_edition (replica, register, edition)
  SELECT 'default', register, max(number) FROM edition WHERE materializada_at IS NOT NULL GROUP BY register
  ON CONFLICT DO NOTHING;
