-- Prints what wrk counted as plain numbers; its bytes include heads, so none are reported.
done = function(summary, latency, requests)
  print("done " .. summary.requests - summary.errors.status)
end
