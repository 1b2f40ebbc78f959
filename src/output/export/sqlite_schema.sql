-- The schema that `gpuprof export --format sqlite` writes. docs/sqlite.md has queries. Times are integers in nanoseconds.
-- Unknown values are NULL.

PRAGMA user_version = 1;  -- of this schema

-- META lines of the profile; a key can be repeated. Also `missing`: a sentence for
-- each loss or gap. With export's --from and --to also window.from_ns and window.to_ns.
CREATE TABLE meta (key TEXT NOT NULL, value TEXT NOT NULL);

-- Data that is missing from the profile. With --max-overhead: only from its windows.
CREATE TABLE losses (reason TEXT NOT NULL, count INTEGER NOT NULL);

CREATE TABLE frames (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,   -- native, inlined, python, interpreter, kernel, gpu, note
  label TEXT NOT NULL,  -- as `gpuprof flame` shows it
  name TEXT NOT NULL,   -- of the function
  file TEXT, line INTEGER,
  module TEXT, build_id TEXT,
  address               -- in the module's file; an integer, or a decimal text from 2^63 on
);

CREATE TABLE stacks (
  id INTEGER NOT NULL,
  position INTEGER NOT NULL,  -- 0 is the outermost frame
  frame INTEGER NOT NULL REFERENCES frames (id),
  PRIMARY KEY (id, position)
) WITHOUT ROWID;

CREATE TABLE work (
  id INTEGER PRIMARY KEY,
  op TEXT NOT NULL,     -- kernel, copy_htod, fill, ...
  name TEXT NOT NULL,   -- of the kernel, or "[copy HtoD]" and the like
  process TEXT, pid INTEGER, rank TEXT, host TEXT, tid INTEGER, thread TEXT,
  device TEXT, stream INTEGER,
  range TEXT            -- NVTX: "epoch/step"
);

CREATE TABLE measured (  -- sums of GPU work
  work INTEGER NOT NULL REFERENCES work (id),
  stack INTEGER,         -- of the launch
  kernel_stack INTEGER,  -- of the launch, in the operating system's kernel
  capture INTEGER,       -- where a graph's node was captured
  gpu_ns INTEGER NOT NULL,
  launches INTEGER NOT NULL,
  queue_ns INTEGER,      -- from queued to started, where both are known
  bytes INTEGER NOT NULL
);

CREATE TABLE host (  -- sums of what threads did: work.op is call, sync, alloc, free, cpu (CPU samples), off_cpu, failed, ...
  work INTEGER NOT NULL REFERENCES work (id),
  stack INTEGER, kernel_stack INTEGER,
  function TEXT,                 -- that was called; for off_cpu: why the thread did not compute
  count INTEGER NOT NULL,        -- of calls, waits, allocations, samples
  host_ns INTEGER NOT NULL,
  shortest_ns INTEGER NOT NULL,  -- of the times that host_ns sums up
  longest_ns INTEGER NOT NULL,
  bytes INTEGER NOT NULL
);

-- Histograms of the durations of GPU work, and of host work with the op call. A bucket is at most 1/64 as wide as its
-- shortest duration. In a profile that was cut short, durations of the last half second may be missing.
CREATE TABLE durations (
  work INTEGER NOT NULL REFERENCES work (id),
  shortest_ns INTEGER NOT NULL,  -- in the bucket
  longest_ns INTEGER NOT NULL,
  launches INTEGER NOT NULL      -- or calls
);

CREATE TABLE samples (  -- counts of samples of GPU code, without times
  work INTEGER NOT NULL REFERENCES work (id),
  stack INTEGER, kernel_stack INTEGER, capture INTEGER,
  stall TEXT,                             -- the stall reason
  place INTEGER REFERENCES frames (id),   -- the innermost source line
  samples INTEGER NOT NULL
);

CREATE VIEW kernels AS
  SELECT w.name, w.op, SUM(m.gpu_ns) AS gpu_ns, SUM(m.launches) AS launches,
         SUM(m.gpu_ns) / MAX(SUM(m.launches), 1) AS average_ns, SUM(m.bytes) AS bytes,
         100.0 * SUM(m.gpu_ns) / MAX((SELECT SUM(gpu_ns) FROM measured), 1) AS percent
  FROM measured m JOIN work w ON w.id = m.work GROUP BY w.name, w.op ORDER BY gpu_ns DESC;

CREATE VIEW percentiles AS  -- of the durations of GPU work with one name, at most 1/64 too long
  SELECT name, op, MAX(launches) AS launches, MIN(CASE WHEN up_to >= 0.5 * launches THEN longest_ns END) AS median_ns,
         MIN(CASE WHEN up_to >= 0.95 * launches THEN longest_ns END) AS p95_ns,
         MIN(CASE WHEN up_to >= 0.99 * launches THEN longest_ns END) AS p99_ns
  FROM (SELECT w.name, w.op, d.longest_ns,
               SUM(SUM(d.launches)) OVER (PARTITION BY w.name, w.op ORDER BY d.longest_ns) AS up_to,
               SUM(SUM(d.launches)) OVER (PARTITION BY w.name, w.op) AS launches
        FROM durations d JOIN work w ON w.id = d.work WHERE w.op <> 'call' GROUP BY w.name, w.op, d.longest_ns)
  GROUP BY name, op;

CREATE VIEW devices AS
  SELECT w.host, w.device, SUM(m.gpu_ns) AS gpu_ns, SUM(m.launches) AS launches
  FROM measured m JOIN work w ON w.id = m.work GROUP BY w.host, w.device ORDER BY gpu_ns DESC;

CREATE VIEW processes AS
  SELECT w.process, w.pid, w.rank, w.host, SUM(m.gpu_ns) AS gpu_ns, SUM(m.launches) AS launches
  FROM measured m JOIN work w ON w.id = m.work GROUP BY w.process, w.pid, w.rank, w.host ORDER BY gpu_ns DESC;

CREATE VIEW functions AS  -- functions that GPU work was launched below; recursion counts once for each stack
  SELECT f.name, f.file, SUM(m.gpu_ns) AS gpu_ns, SUM(m.launches) AS launches
  FROM (SELECT DISTINCT s.id, f.name, f.file FROM stacks s JOIN frames f ON f.id = s.frame) f
       JOIN measured m ON m.stack = f.id GROUP BY f.name, f.file ORDER BY gpu_ns DESC;

CREATE VIEW paths AS  -- each call path of a kernel as text, once
  SELECT name, path, SUM(gpu_ns) AS gpu_ns, SUM(launches) AS launches
  FROM (SELECT w.name, m.gpu_ns, m.launches,
               (SELECT GROUP_CONCAT(label, ';') FROM (SELECT f.label FROM stacks s JOIN frames f ON f.id = s.frame
                WHERE s.id = m.stack ORDER BY s.position)) AS path
        FROM measured m JOIN work w ON w.id = m.work)
  GROUP BY name, path ORDER BY gpu_ns DESC;

CREATE VIEW host_paths AS  -- each call path of a function as text, once
  SELECT op, function, path, SUM(count) AS count, SUM(host_ns) AS host_ns, MIN(shortest_ns) AS shortest_ns,
         MAX(longest_ns) AS longest_ns, SUM(bytes) AS bytes
  FROM (SELECT w.op, h.*,
               (SELECT GROUP_CONCAT(label, ';') FROM (SELECT f.label FROM stacks s JOIN frames f ON f.id = s.frame
                WHERE s.id = h.stack ORDER BY s.position)) AS path
        FROM host h JOIN work w ON w.id = h.work)
  GROUP BY op, function, path ORDER BY host_ns DESC;

CREATE VIEW calls AS  -- each function of the vendor's API whose calls were recorded with the op call; see docs/cli.md
  SELECT h.function, SUM(h.count) AS calls, SUM(h.host_ns) AS host_ns, SUM(h.host_ns) / SUM(h.count) AS average_ns,
         (SELECT MIN(CASE WHEN up_to >= 0.5 * calls THEN longest_ns END)
          FROM (SELECT d.longest_ns, SUM(SUM(d.launches)) OVER (ORDER BY d.longest_ns) AS up_to,
                       SUM(SUM(d.launches)) OVER () AS calls
                FROM durations d JOIN work c ON c.id = d.work
                WHERE c.op = 'call' AND c.name = w.name GROUP BY d.longest_ns)) AS median_ns,
         MAX(h.longest_ns) AS longest_ns
  FROM host h JOIN work w ON w.id = h.work WHERE w.op = 'call' GROUP BY h.function ORDER BY host_ns DESC;

CREATE VIEW cpu_samples AS  -- each call path that was sampled on the CPU (record --cpu), once
  SELECT path, count AS samples, host_ns AS cpu_ns FROM host_paths WHERE op = 'cpu' ORDER BY cpu_ns DESC;

CREATE VIEW stalls AS
  SELECT w.name AS kernel, s.stall, SUM(s.samples) AS samples
  FROM samples s JOIN work w ON w.id = s.work GROUP BY w.name, s.stall ORDER BY samples DESC;

CREATE VIEW source_lines AS
  SELECT w.name AS kernel, f.file, f.line, s.stall, SUM(s.samples) AS samples
  FROM samples s JOIN work w ON w.id = s.work LEFT JOIN frames f ON f.id = s.place
  GROUP BY w.name, f.file, f.line, s.stall ORDER BY samples DESC;
