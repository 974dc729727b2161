// Package guard holds the real `aegis guard` against a server that says what no
// honest server would: the guard contract point by point, a peer's hostile
// frames, secrets in every field.
package guard
