package bridge

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/packetbench/packetbench/contract"
)

// metrics are the figures of /metrics. Labels are method names of our table and
// outcomes, nothing that a peer can choose.
type metrics struct {
	registry *prometheus.Registry
	http     prometheus.Counter
	events   prometheus.Counter
	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec
}

func newMetrics(d *doors) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		http:     prometheus.NewCounter(prometheus.CounterOpts{Name: "packetbench_http_requests_total", Help: "HTTP requests that reached the listener."}),
		events:   prometheus.NewCounter(prometheus.CounterOpts{Name: "packetbench_events_sent_total", Help: "Events sent to all windows together."}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "packetbench_requests_total", Help: "Commands by method and outcome."}, []string{"method", "outcome"}),
		took:     prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "packetbench_request_seconds", Help: "How long commands took.", Buckets: []float64{.001, .01, .1, 1, 10}}, []string{"method"}),
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), m.http, m.events, m.requests, m.took)
	m.gauge("packetbench_viewers", "Connected windows and event streams.", func() float64 {
		n := 0
		d.open.Range(func(_, _ any) bool { n++; return true })
		return float64(n)
	})
	m.gauge("packetbench_viewer_lag_events", "Events the slowest window is behind the log.", func() float64 {
		var most uint64
		d.open.Range(func(_, s any) bool { most = max(most, s.(*session).lag()); return true })
		return float64(most)
	})
	m.gauge("packetbench_log_head", "Sequence number of the last event.", func() float64 { return float64(d.opt.Log.Head()) })
	for name, read := range d.opt.Gauges {
		m.gauge(name, "See docs/architecture.md.", read)
	}
	if d.opt.Figures != nil {
		m.registry.MustRegister(collector{d.opt.Figures})
	}
	return m
}

// Figure is one value of /metrics that the wiring tells. Labels are names and
// values in turn; none of them may be something that a peer can choose freely.
type Figure struct {
	Name, Help string
	Value      float64
	Labels     []string
	// Counter says that it only grows.
	Counter bool
}

// collector asks for the figures when somebody reads them.
type collector struct{ read func() []Figure }

// Describe tells nothing: which figures there are is known when they are read.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect hands out what was read. A figure that is not well formed is shown as
// an error by the registry and not dropped in silence.
func (c collector) Collect(out chan<- prometheus.Metric) {
	for _, f := range c.read() {
		var names, values []string
		for i := 0; i+1 < len(f.Labels); i += 2 {
			names, values = append(names, f.Labels[i]), append(values, f.Labels[i+1])
		}
		kind := prometheus.GaugeValue
		if f.Counter {
			kind = prometheus.CounterValue
		}
		desc := prometheus.NewDesc(f.Name, f.Help, names, nil)
		m, err := prometheus.NewConstMetric(desc, kind, f.Value, values...)
		if err != nil {
			m = prometheus.NewInvalidMetric(desc, err)
		}
		out <- m
	}
}

func (m *metrics) gauge(name, help string, read func() float64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// request counts one command.
func (m *metrics) request(method contract.Method, known bool, failure *contract.Failure, took time.Duration) {
	name, outcome := string(method), "ok"
	if !known {
		name = "unknown"
	}
	if failure != nil {
		outcome = "refused"
		if failure.Code == contract.CodeInternal {
			outcome = "failed"
		}
	}
	m.requests.WithLabelValues(name, outcome).Inc()
	m.took.WithLabelValues(name).Observe(took.Seconds())
}
