// Package interpose is the relay between one MCP client and one MCP server
// that runs as a child process. It passes every byte on as it came, in order,
// and puts on record each tools/call that passes.
//
// # One call
//
//	client ─▶ uplink ─▶ classify ─▶ decide ─▶ intent ─▶ outbox ─(intent durable)─▶ child
//	client ◀─ outlet ◀─ outcome ◀─ correlate ◀─ classify ◀─ downlink ◀─────────── child
//
// # Goroutines
//
// A Session owns one reader and one writer for each direction. The uplink reads
// the client, decides and writes intents; it never waits for a sync, so that
// the calls behind it can share one. The outbox waits for the sync and writes
// to the child, in the order of the client. The downlink reads the child,
// writes outcomes and then the client. The ledger of open calls is the only
// thing the two directions share, beside the client's outlet, on which a
// refusal must not cut into an answer.
package interpose
