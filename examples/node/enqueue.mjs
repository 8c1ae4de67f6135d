// Enqueue a taskq activity from Node, in a transaction of its own.
//
//   npm install pg
//   DATABASE_URL=postgresql://localhost/shop node enqueue.mjs ada@example.com
//
// The order and the activity exist together or not at all: whatever throws before the COMMIT
// leaves nothing behind. The same key again stores nothing and answers the same id.

import pg from "pg";

const [to = "ada@example.com", then = "commit"] = process.argv.slice(2);
const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
await client.connect();

try {
  await client.query("BEGIN");
  await client.query("CREATE TABLE IF NOT EXISTS orders (id text PRIMARY KEY, customer text)");
  await client.query("INSERT INTO orders VALUES ($1, $2) ON CONFLICT DO NOTHING", ["order-42", to]);
  const { rows } = await client.query(
    `SELECT taskq_enqueue('send_email', $1,
       idempotency_key => $2, priority => 3, source => 'node', tags => $3) AS id`,
    [{ to, subject: "Thank you" }, "order-42", { region: "eu" }],
  );
  await client.query(then === "commit" ? "COMMIT" : "ROLLBACK");
  console.log(then === "commit" ? `stored ${rows[0].id}` : "rolled back: nothing is stored");
} catch (error) {
  await client.query("ROLLBACK");
  console.error(error.message);
  process.exitCode = 1;
} finally {
  await client.end();
}
