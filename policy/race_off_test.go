//go:build !race

package policy_test

// raceDetector tells tests of time that everything takes many times as long.
const raceDetector = false
