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
// the client, decides and writes intents. It does not wait for a sync while
// more frames are at hand, so that their calls can share one: the outbox waits
// and writes to the child, in the order of the client. A call that comes alone
// is synced and written by the uplink itself. The downlink reads the child,
// writes outcomes and then the client. The ledger of open calls is the only
// thing the two directions share, beside the client's outlet, on which a
// refusal must not cut into an answer.
package interpose
