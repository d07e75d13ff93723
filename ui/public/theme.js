// Theme and density before the first paint, so that nothing flashes. A plain
// file and not inline: the page allows scripts from its own origin only.
;(function () {
  var root = document.documentElement
  try {
    var theme = localStorage.getItem('packetbench:theme')
    if (theme !== 'light' && theme !== 'dark') {
      theme = matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark'
    }
    root.dataset.theme = theme
    if (localStorage.getItem('packetbench:density') === 'cozy') root.dataset.density = 'cozy'
  } catch (e) {
    root.dataset.theme = 'dark'
  }
})()
