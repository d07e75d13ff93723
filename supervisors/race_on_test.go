//go:build race

package supervisors_test

// underRace: time budgets say nothing.
const underRace = true
