//go:build race

package inspect

// raceDetector says that a sync.Pool forgets at random.
const raceDetector = true
