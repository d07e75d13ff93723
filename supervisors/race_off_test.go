//go:build !race

package supervisors_test

const underRace = false
