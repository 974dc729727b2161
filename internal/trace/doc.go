// Package trace is the recorded session: what `guard --record` writes and
// `inspect` reads. A line is
//
//	{"direction":"c2s"|"s2c","ts":RFC 3339,"frame":JSON}
//
// with the frame as it came, byte for byte. What cannot stand there and come
// back the same has its bytes in base64 under "raw" in place of "frame"; a frame
// that was not kept has their number under "omitted_bytes". The reader also
// takes lines that are a bare JSON-RPC frame, as other tools record them.
package trace

// Direction says who sent a frame.
type Direction string

// The directions.
const (
	Client  Direction = "c2s" // client to server
	Server  Direction = "s2c" // server to client
	Unknown Direction = ""    // a bare frame; [Session] infers it
)

// MaxLine bounds a line in bytes, its end excepted.
const MaxLine = 64 << 20
