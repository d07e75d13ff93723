import { placeKeys, shortcuts } from '../shortcuts'

/** All keys, from the table that the page itself uses. */
export function ShortcutsGroup() {
  return (
    <>
      <h2>Everywhere</h2>
      <table className="keys panel">
        <thead className="sr">
          <tr>
            <th scope="col">Keys</th>
            <th scope="col">Does</th>
            <th scope="col">Where</th>
          </tr>
        </thead>
        <tbody>
          {shortcuts.map((s) => (
            <tr key={s.id}>
              <th scope="row">
                <kbd className="kbd">{s.keys}</kbd>
              </th>
              <td>{s.does}</td>
              <td className="ink-3 micro">{s.where}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {placeKeys.map((p) => (
        <section key={p.place} aria-label={p.place}>
          <h2>{p.place}</h2>
          <table className="keys panel">
            <tbody>
              {p.rows.map(([keys, does]) => (
                <tr key={keys}>
                  <th scope="row">
                    <kbd className="kbd">{keys}</kbd>
                  </th>
                  <td>{does}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      ))}
    </>
  )
}
