// Package crash holds the tests that kill aegis wrap, or the server behind it,
// in the middle of a session, and look at what the record then says.
package crash
