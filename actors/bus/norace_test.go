//go:build !race

package bus

// raceEnabled makes the large tests smaller under the race detector.
const raceEnabled = false
