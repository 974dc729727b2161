// Package interop holds the tests that put real MCP servers and the official Go
// and TypeScript clients on the two sides of aegis wrap.
package interop
