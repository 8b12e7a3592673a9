# The command `call`: makes one call for an audit, with the client's own defaults, and reports its outcome.
defmodule Calls do
  # The reply to `call`: `words` say which calls the client can make, `open` makes a new client, and `make` makes a call
  # and gives `{:ok, status, body}` or `{:error, class, text}`.
  def reply(command, {words, open, make}) do
    case command["needs"] |> String.split(",", trim: true) |> Enum.find(&(&1 not in words)) do
      nil ->
        if command["new_client"], do: open.()
        call = %{command | "fields" => fields(command["fields"])} |> Map.replace_lazy("body", &URI.decode_www_form/1)
        began = System.monotonic_time(:millisecond)
        claim = claim(make, call)
        Map.merge(claim, %{ok: true, ms: System.monotonic_time(:millisecond) - began})

      word ->
        %{ok: false, error: "unsupported", what: word}
    end
  end

  defp claim(make, call) do
    case make.(call) do
      {:ok, status, body} -> %{status: status, bytes: byte_size(body), sha256: hash(body)}
      {:error, class, text} -> %{class: class, text: shown(text)}
    end
  rescue
    error -> %{class: inspect(error.__struct__), text: shown(Exception.message(error))}
  end

  defp hash(body), do: Base.encode16(:crypto.hash(:sha256, body), case: :lower)
  defp shown(text), do: text |> String.replace(~r/[^ -~]/, "?") |> String.slice(0, 500)

  defp fields(form) do
    for pair <- String.split(form, "&", trim: true), do: pair |> String.split("=", parts: 2) |> Enum.map(&URI.decode_www_form/1) |> List.to_tuple()
  end
end
