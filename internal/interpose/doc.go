// Package interpose is the relay between one MCP client and one MCP server
// that runs as a child process. It passes every byte on as it came, in order,
// has each tools/call decided, refuses it or lets it pass, and puts it on record.
//
// # One call
//
//	client ─▶ uplink ─▶ classify ─▶ decide ─▶ intent ─▶ outbox ─(intent durable)─▶ child
//	client ◀─ outlet ◀─ record ◀─ refuse ◀─┘
//	client ◀─ outlet ◀─ outcome ◀─ ledger ◀─ classify ◀─ downlink ◀────────────── child
//
// # Goroutines
//
// The uplink reads the client, decides and writes intents. It does not wait for
// a sync while more frames are at hand, so that their calls can share one: the
// outbox waits and writes to the child, in the order of the client. A call that
// comes alone is synced and written by the uplink itself. The downlink reads the
// child, writes outcomes and then the client. The two directions share the
// ledger of open calls, what framing each side was seen with, and the client's
// outlet, on which a refusal must not cut into an answer. The child's stderr has
// a copier and the [Pump]. Whoever called [Run] supervises: it waits for the end,
// sees the child out and settles what is still open.
package interpose
