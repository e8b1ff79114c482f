const place = document.getElementById("job");
unpacked(bytesOf(document.getElementById("job-data").textContent)).then((data) => mount(place, data, place.dataset));
