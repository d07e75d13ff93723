//go:build !race

package bridge

// raceDetector tells that everything takes several times as long.
const raceDetector = false
