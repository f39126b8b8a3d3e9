// rules.mjs: the ring goes to the right unit
export default ({ call, eachEvent, newEvent, requirement, sentData, state, storedData, withMember }) => [
  requirement("R-OWN-01", 2, {
    statement: "A call rings at the unit that it is for.",
    source: "our building",
    because: "The wrong resident opens the door.",
    expected: () => "the stored unit is the unit of the call",
    needs: ["effects"],
    given: [1, 2, 3].map((id) =>
      state(`a call for unit ${id}`, newEvent(withMember(call, "unit", JSON.stringify({ id, label: `${id}A` }))))
    ),
    judge: (trace, criteria) =>
      eachEvent(trace, criteria, "the probe showed no unit", ({ event }) => {
        const stored = storedData(trace, event)
        if (stored === null) return null
        return stored.unit?.id === sentData(trace, event).unit.id ? true : `it rings at unit ${stored.unit?.id}`
      })
  })
]
