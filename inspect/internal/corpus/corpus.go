// Package corpus measures the catalog: how much of what is malicious it finds,
// and how often it takes fright at what is not.
//
// Two labelled corpora are part of the repository, and for a third there is
// everybody else's text: whatever lies around on a machine with Go on it.
package corpus
